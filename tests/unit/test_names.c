/* SPDX-License-Identifier: MIT */
/*
 * test_names.c - names that somebody else reads: how often it is asked, and that its answers are
 * the same whether it is asked for one frame or for many at once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "src/names/names.h"

#define FRAMES		(2 * SYMBOLIZER_FORESEEN + 40u)
#define STEP		16u

struct own_file {
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct frame frame[FRAMES];
};

/* This program, and places all over its code. */
static void begin(struct own_file *own)
{
	struct module_source source = { .open_file = NULL };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	extern const char __executable_start[];
	uint32_t module;

	assert_true(fd >= 0);
	assert_int_equal(modules_new(&source, &own->modules), 0);
	assert_int_equal(modules_add_file(own->modules, "/proc/self/exe", fd, false, &module), 0);
	assert_int_equal(symbolizer_new(own->modules, &own->symbolizer), 0);
	for (uint32_t i = 0; i < FRAMES; i++)
		own->frame[i] = (struct frame){
			.module = module,
			.offset = (uint64_t)((const char *)(uintptr_t)begin - __executable_start) +
				  i * STEP,
		};
}

static void end(struct own_file *own)
{
	symbolizer_free(own->symbolizer);
	modules_free(own->modules);
}

/* ---- how often ---- */

struct counts {
	uint32_t single, many, told, tells;	/* tells: answers of a question before it fails */
};

static int count_single(void *context, const struct frame *frame,
			struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count)
{
	struct counts *counts = context;

	counts->single++;
	ret[0] = (struct symbol_frame){ .function = "single", .offset = frame->offset };
	*ret_count = 1;
	return 0;
}

static int count_many(void *context, const struct frame *frame, uint32_t count,
		      symbolizer_tell *tell, void *told)
{
	struct counts *counts = context;

	counts->many++;
	for (uint32_t i = 0; i < count && i < counts->tells; i++, counts->told++)
		tell(told, &frame[i], &(struct symbol_frame){ .function = "many",
							      .offset = frame[i].offset }, 1);
	return counts->tells < count ? -EBADMSG : 0;
}

static uint32_t named(struct own_file *own, const char *how)
{
	uint32_t found = 0;
	size_t count;

	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct symbol_frame *frame = symbolizer_frame(own->symbolizer,
								    &own->frame[i], &count);

		assert_int_equal(count, 1);
		assert_int_equal(frame->offset, own->frame[i].offset);
		found += strcmp(frame->function, how) == 0;
	}
	return found;
}

static void count_questions(struct counts *counts)
{
	const struct symbolizer_remote remote = { count_single, count_many, counts };
	struct own_file own;

	begin(&own);
	symbolizer_set_remote(own.symbolizer, &remote);
	symbolizer_foresee(own.symbolizer, own.frame, FRAMES);
	symbolizer_foresee(own.symbolizer, own.frame, FRAMES);	/* known, or foreseen already */
	assert_int_equal(counts->single, 0);
	assert_int_equal(named(&own, "many"), counts->told);
	assert_int_equal(named(&own, "single"), FRAMES - counts->told);
	end(&own);
}

static void many_in_one_question(void **state)
{
	struct counts counts = { .tells = SYMBOLIZER_FORESEEN };

	(void)state;
	count_questions(&counts);
	assert_int_equal(counts.many, 2);
	assert_int_equal(counts.told, 2 * SYMBOLIZER_FORESEEN);
	assert_int_equal(counts.single, 40);
}

static void half_an_answer(void **state)
{
	struct counts counts = { .tells = 5 };

	(void)state;
	count_questions(&counts);
	assert_int_equal(counts.single, FRAMES - counts.told);
	assert_in_range(counts.told, 10, FRAMES / 2);
}

static void few_are_asked_for_at_once(void **state)
{
	struct counts counts = { .tells = SYMBOLIZER_FORESEEN };
	const struct symbolizer_remote remote = { count_single, count_many, &counts };
	struct own_file own;
	size_t count = 0;

	(void)state;
	begin(&own);
	symbolizer_set_remote(own.symbolizer, &remote);
	symbolizer_ask_foreseen(own.symbolizer);
	symbolizer_foresee(own.symbolizer, own.frame, 5);
	assert_null(symbolizer_frame_known(own.symbolizer, &own.frame[4], &count));
	assert_int_equal(counts.many, 0);
	symbolizer_ask_foreseen(own.symbolizer);
	symbolizer_ask_foreseen(own.symbolizer);
	assert_int_equal(counts.many, 1);
	assert_int_equal(counts.told, 5);
	assert_string_equal(symbolizer_frame_known(own.symbolizer, &own.frame[4], &count)->function,
			    "many");
	assert_int_equal(count, 1);
	assert_null(symbolizer_frame_known(own.symbolizer, &own.frame[5], &count));
	assert_int_equal(counts.single, 0);
	end(&own);
}

/* ---- the same answers ---- */

static void assert_same(const struct symbol_frame *a, const struct symbol_frame *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_true((a[i].function == NULL) == (b[i].function == NULL));
		assert_true((a[i].file == NULL) == (b[i].file == NULL));
		if (a[i].function)
			assert_string_equal(a[i].function, b[i].function);
		if (a[i].file)
			assert_string_equal(a[i].file, b[i].file);
		assert_int_equal(a[i].line, b[i].line);
		assert_int_equal(a[i].function_offset, b[i].function_offset);
		assert_int_equal(a[i].inlined, b[i].inlined);
		assert_string_equal(a[i].module, b[i].module);
	}
}

static void child_says_the_same(void **state)
{
	struct own_file here, apart;
	struct session_names *names;
	size_t count, other, known = 0;

	(void)state;
	begin(&here);
	begin(&apart);
	assert_int_equal(session_names_new(apart.modules, apart.symbolizer, &names), 0);
	symbolizer_foresee(apart.symbolizer, apart.frame, FRAMES);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct symbol_frame *a, *b;

		a = symbolizer_frame(here.symbolizer, &here.frame[i], &count);
		b = symbolizer_frame(apart.symbolizer, &apart.frame[i], &other);
		assert_int_equal(count, other);
		assert_same(a, b, count);
		known += a->function != NULL;
	}
	assert_true(known > FRAMES / 2);
	session_names_free(names);
	end(&apart);
	end(&here);
}

static int children(void)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	int count = 0, pid;

	assert_non_null(list);
	while (fscanf(list, "%d", &pid) == 1)
		count++;
	(void)fclose(list);
	return count;
}

static void an_idle_child_ends_and_another_comes(void **state)
{
	struct session_names *names;
	struct own_file own;
	size_t count;

	(void)state;
	begin(&own);
	assert_int_equal(session_names_new(own.modules, own.symbolizer, &names), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_non_null(symbolizer_frame(own.symbolizer, &own.frame[i], &count));
		assert_int_equal(children(), 1);
		session_names_rest(names);	/* it was asked since the last time */
		assert_int_equal(children(), 1);
		session_names_rest(names);
		assert_int_equal(children(), 0);
	}
	session_names_free(names);
	end(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_in_one_question),
		cmocka_unit_test(half_an_answer),
		cmocka_unit_test(few_are_asked_for_at_once),
		cmocka_unit_test(child_says_the_same),
		cmocka_unit_test(an_idle_child_ends_and_another_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
