/* SPDX-License-Identifier: MIT */
/* test_name_shape.c - names as they are asked for: frames of a symbolizer, and leaks' titles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/report/name_shape.h"
#include "src/report/trace_to.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct symbol_frame symbol[] = {
	{ .function = "std::vector<int, std::allocator<int> >::push_back(int&&)", .line = 3,
	  .inlined = true },
	{ .function = NULL, .module = "/lib/x.so", .offset = 7, .inlined = true },
	{ .function = "void serve<request>(request const&)", .line = 9 },
};
static int asked;

static const struct symbol_frame *some_frame(void *context, const struct frame *frame,
					     size_t *ret_count)
{
	asked++;
	(void)context;
	*ret_count = frame->offset ? 3 : 0;
	return symbol;
}

static const struct symbol_frame *ask(const struct report_names *names, uint64_t offset,
				      size_t *ret_count)
{
	return names->frame(names->context, &(struct frame){ .offset = offset }, ret_count);
}

static struct name_shaper *shape(struct report_names *names, struct name_shape wanted)
{
	struct name_shaper *shaper;

	*names = (struct report_names){ .frame = some_frame };
	assert_int_equal(report_names_shape(names, &wanted, &shaper), 0);
	return shaper;
}

static void nothing_is_asked_for(void **state)
{
	struct report_names names;
	size_t count;

	(void)state;
	assert_null(shape(&names, (struct name_shape){ .no_inlined = false }));
	assert_ptr_equal(names.frame, some_frame);
	assert_ptr_equal(ask(&names, 1, &count), symbol);
	assert_ptr_equal(name_shaper_frames(NULL, NULL, symbol, 3, &count), symbol);
	assert_int_equal(count, 3);
}

static void names_are_shaped_once(void **state)
{
	struct report_names names;
	struct name_shaper *shaper = shape(&names, (struct name_shape){ .function_only = true });
	const struct symbol_frame *is;
	size_t count;

	(void)state;
	is = ask(&names, 1, &count);
	assert_int_equal(count, 3);
	assert_string_equal(is[0].function, "std::vector<int, std::allocator<int> >::push_back");
	assert_null(is[1].function);
	assert_int_equal(is[1].offset, 7);
	assert_string_equal(is[2].function, "serve<request>");
	assert_int_equal(is[2].line, 9);
	assert_ptr_equal(ask(&names, 1, &count), is);
	(void)ask(&names, 0, &count);
	assert_int_equal(count, 0);
	name_shaper_free(shaper);
}

static void inlined_frames_are_left_out(void **state)
{
	struct report_names names;
	struct name_shaper *shaper = shape(&names, (struct name_shape){
		.no_inlined = true, .shorten_templates = true });
	size_t count;
	const struct symbol_frame *is = ask(&names, 1, &count);

	(void)state;
	assert_int_equal(count, 1);
	assert_string_equal(is->function, "void serve<>(request const&)");
	name_shaper_free(shaper);
}

/* A name that was not known yet may be known now. */
static void later_names_are_taken(void **state)
{
	const struct symbol_frame unknown = { .module = "" };
	const struct frame frame = { .offset = 1 };
	struct name_shaper *shaper;
	const struct symbol_frame *is;
	size_t count;

	(void)state;
	assert_int_equal(name_shaper_new(&(struct name_shape){ .function_only = true }, &shaper),
			 0);
	is = name_shaper_frames(shaper, &frame, &unknown, 1, &count);
	assert_null(is->function);
	is = name_shaper_frames(shaper, &frame, &symbol[2], 1, &count);
	assert_string_equal(is->function, "serve<request>");
	assert_null(name_shaper_frames(shaper, &frame, NULL, 0, &count));
	assert_int_equal(count, 0);
	name_shaper_free(shaper);
}

static void assert_text(struct name_shape wanted, const char *text, const char *becomes)
{
	struct report_names names;
	struct name_shaper *shaper = shape(&names, wanted);
	char *is = report_names_text(&names, text);

	assert_string_equal(is, becomes);
	free(is);
	name_shaper_free(shaper);
}

static void titles_of_leaks(void **state)
{
	const struct name_shape templates = { .shorten_templates = true };
	const struct name_shape only = { .function_only = true };
	struct report_names names;
	static const char trace[] = "an old stack, next to a call from ns::keep<int>(node*)";

	(void)state;
	assert_null(shape(&names, (struct name_shape){ .no_inlined = false }));
	assert_null(report_names_text(&names, NULL));
	assert_text((struct name_shape){ .no_inlined = false }, "map<int>", "map<int>");
	assert_text(templates, "std::map<int, node<int> >", "std::map<>");
	assert_text(only, "std::map<int, node<int> >", "std::map<int, node<int> >");
	assert_text(only, trace, "an old stack, next to a call from ns::keep<int>");
	assert_text(templates, trace, "an old stack, next to a call from ns::keep<>(node*)");
	assert_text(only, "(stack of thread 7)", "(stack of thread 7)");
}

/* What --trace-to prints of a block that two chains hold. */
static char *print_trace(struct name_shape wanted, bool json)
{
	char *chain[] = { (char *)(uintptr_t)"table->(map<int, node<int> >)+8 (main, thread 7)",
			  (char *)(uintptr_t)"an old stack, next to a call from keep<int>(node*)" };
	struct leak_report leaks = {
		.traced = true, .trace_kind = BLOCK_REACHABLE, .trace = chain, .trace_count = 2,
		.trace_block = { .address = 0x1000, .bytes = 24 },
	};
	struct report_input input = { .leaks = &leaks };
	struct name_shaper *shaper = shape(&input.names, wanted);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(trace_write(out, &input, 0x1000, json), 0);
	assert_int_equal(fclose(out), 0);
	name_shaper_free(shaper);
	return text;
}

static void chains_to_a_block(void **state)
{
	static const struct name_shape shapes[] = {
		{ .no_inlined = false },
		{ .function_only = true },
		{ .function_only = true, .shorten_templates = true },
	};
	static const char *const lines[][2] = {
		{ "table->(map<int, node<int> >)+8 (main, thread 7)", "from keep<int>(node*)" },
		{ "table->(map<int, node<int> >)+8 (main, thread 7)", "from keep<int>" },
		{ "table->(map<>)+8 (main, thread 7)", "from keep<>" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (int json = 0; json < 2; json++) {
			char *text = print_trace(shapes[i], json);

			for (int k = 0; k < 2; k++) {
				const char *there = strstr(text, lines[i][k]);

				assert_non_null(there);
				there += strlen(lines[i][k]);
				assert_true(*there == (json ? '"' : '\n'));
			}
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_for),
		cmocka_unit_test(names_are_shaped_once),
		cmocka_unit_test(inlined_frames_are_left_out),
		cmocka_unit_test(later_names_are_taken),
		cmocka_unit_test(titles_of_leaks),
		cmocka_unit_test(chains_to_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
