/* SPDX-License-Identifier: MIT */
/*
 * test_leak_suppressions.c - the syntax and meaning of LeakSanitizer's suppression files.
 * Matching was compared with LLVM 14's TemplateMatch() on 4 million random pairs: no difference.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "src/leak/analysis/suppressions.h"

static struct suppressions *parsed(const char *text)
{
	struct suppressions *s;
	struct suppressions_error error;

	assert_int_equal(suppressions_new(&s), 0);
	if (suppressions_parse(s, text, strlen(text), &error))
		fail_msg("line %u: %s", error.line, error.text);
	return s;
}

static int count_rule(void *context, const struct suppression *rule)
{
	size_t *count = context;

	(*count)++;
	assert_non_null(rule->pattern);
	return 0;
}

static size_t rules(const struct suppressions *s)
{
	size_t count = 0;

	assert_int_equal(suppressions_each(s, count_rule, &count), 0);
	return count;
}

static void patterns_match_as_in_llvm(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "foo", "foo", true }, { "foo", "a_foo_b", true }, { "foo", "fo", false },
		{ "foo", "", false }, { "*", "", false }, { "*", "x", true },
		{ "foo", NULL, false },
		{ "^foo", "foobar", true }, { "^foo", "xfoo", false }, { "^foo", "xfoofoo", false },
		{ "foo$", "xfoo", true }, { "foo$", "foox", false }, { "foo$", "foofoo", false },
		{ "^foo$", "foo", true }, { "^foo$", "foo1", false }, { "^foo$", "1foo", false },
		{ "f*o", "f123o", true }, { "f*o", "of", false }, { "^*foo", "xfoo", true },
		{ "foo*$", "foox", true }, { "a*b$", "a1b", true }, { "a*b$", "a1b2b", false },
		{ "**a**", "xax", true }, { "a**b", "ab", true }, { "$", "x", false },
		{ "^$", "x", false }, { "*$", "x", true }, { "a$b", "a", true },
		{ "a$b", "a$b", false },
		{ "a^b", "a^b", true }, { "*^b", "^b", true }, { "^^a", "^a", true },
		{ "libfoo.so", "/usr/lib/libfoo.so.1", true },
		{ "A::B<*>::c", "A::B<int>::c(int)", true },
		{ " foo", "foo", false }, { "FOO", "foo", false }, { "?", "x", false },
		{ "[a]", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (suppressions_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].text);
	}
}

static void comments_and_white_space_do_not_count(void **state)
{
	struct suppressions *s = parsed(
		"# leak:no\n\n  \t\n\r\n  leak:a b\t \r\n\t# x\nleak:c#d\nleak:yy");
	const struct symbol_frame frame[] = { { .function = "a b", .module = "" },
					      { .function = "c#d", .module = "" },
					      { .function = "xyyx", .module = "" },
					      { .function = "no", .module = "" } };

	(void)state;
	assert_int_equal(rules(s), 3);
	assert_int_equal(suppressions_match(s, &frame[0], 1), 1);
	assert_int_equal(suppressions_match(s, &frame[1], 1), 2);
	assert_int_equal(suppressions_match(s, &frame[2], 1), 3);
	assert_int_equal(suppressions_match(s, &frame[3], 1), 0);
	suppressions_free(s);
}

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		uint32_t line;
		const char *says;
	} cases[] = {
		{ "leak:a\nrace:b\n", 0, 2, "\"race:b\"" },
		{ "leak:a\n\n#\n leaky:b", 0, 4, "\"leaky:b\"" },
		{ "foo", 0, 1, "leak:PATTERN" },
		{ "Leak:foo", 0, 1, "leak:PATTERN" },
		{ "leak", 0, 1, "leak:PATTERN" },
		{ "leak :x", 0, 1, "leak:PATTERN" },
		{ "leak:", 0, 1, "empty" },
		{ "\nleak: \t\r\n", 0, 2, "empty" },
		{ "leak:^", 0, 1, "empty" },
		{ "leak:a\nleak:b\0c\n", 16, 2, "byte 0" },
		{ "\x7f" "ELF\x02\x01\x1b[31m", 0, 1, "?ELF???[31m" },
		{ "this line is much longer than what is shown of it in a message", 0, 1, "..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct suppressions *s = parsed("leak:kept\n");
		size_t length = cases[i].length ? cases[i].length : strlen(cases[i].text);
		struct suppressions_error error = { 0 };

		assert_int_equal(suppressions_parse(s, cases[i].text, length, &error), -EINVAL);
		assert_int_equal(error.line, cases[i].line);
		if (!strstr(error.text, cases[i].says))
			fail_msg("case %zu: %s", i, error.text);
		assert_int_equal(rules(s), 1);
		assert_int_equal(suppressions_parse(s, cases[i].text, length, NULL), -EINVAL);
		suppressions_free(s);
	}
}

static void too_much_is_refused(void **state)
{
	size_t length = SUPPRESSIONS_MAX_BYTES + 1;
	_cleanup_free_ char *text = malloc(length);
	struct suppressions *s = parsed("");
	struct suppressions_error error;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', length);
	assert_int_equal(suppressions_parse(s, text, length, &error), -EFBIG);
	assert_int_equal(error.line, 0);
	assert_int_equal(suppressions_parse(s, text, length - 1, &error), 0);
	for (size_t i = 0; i <= SUPPRESSIONS_MAX_RULES; i++)
		memcpy(text + i * 7, "leak:a\n", 7);
	length = (SUPPRESSIONS_MAX_RULES + 1) * 7;
	assert_int_equal(suppressions_parse(s, text, length, &error), -EFBIG);
	assert_int_equal(error.line, SUPPRESSIONS_MAX_RULES + 1);
	assert_int_equal(rules(s), 0);
	assert_int_equal(suppressions_parse(s, text, length - 7, &error), 0);
	assert_int_equal(rules(s), SUPPRESSIONS_MAX_RULES);
	suppressions_free(s);
}

/* Innermost frame first; within a frame the module, then the function, then the file. */
static void frames_are_tried_in_order(void **state)
{
	const struct symbol_frame frame[] = {
		{ .function = "inner", .file = "inner.c", .module = "/lib/one.so",
		  .inlined = true },
		{ .function = "outer", .file = "outer.c", .module = "/lib/one.so" },
		{ .function = NULL, .file = NULL, .module = "/lib/two.so" },
		{ .function = "main", .file = "/src/main.c", .module = "" },
	};
	static const struct {
		const char *rules;
		size_t rule;
	} cases[] = {
		{ "leak:inner\nleak:one.so", 2 },	/* module before function */
		{ "leak:inner.c\nleak:^inner$", 2 },	/* function before file */
		{ "leak:main\nleak:outer", 2 },		/* inner frame before outer */
		{ "leak:outer\nleak:outer", 1 },	/* first rule */
		{ "leak:^outer.c$", 1 }, { "leak:two.so$", 1 }, { "leak:^/src/", 1 },
		{ "leak:unknown module", 1 }, { "leak:^<unknown module>$", 1 },
		{ "leak:three", 0 }, { "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct suppressions *s = parsed(cases[i].rules);

		if (suppressions_match(s, frame, ARRAY_SIZE(frame)) != cases[i].rule)
			fail_msg("%s", cases[i].rules);
		assert_int_equal(suppressions_match(s, frame, 0), 0);
		suppressions_free(s);
	}
}

struct sum {
	uint64_t count, bytes;
	size_t rules, unused;
};

static int add_up(void *context, const struct suppression *rule)
{
	struct sum *sum = context;

	sum->count += rule->count;
	sum->bytes += rule->bytes;
	sum->rules++;
	sum->unused += rule->count == 0;
	assert_int_equal(rule->file, sum->rules <= 2 ? 0 : 1);
	assert_int_equal(rule->line, sum->rules <= 2 ? sum->rules : 3);
	return rule->count == 77;
}

static void hits_are_counted(void **state)
{
	struct suppressions *s = parsed("leak:a\nleak:b\n");
	struct sum sum = { 0 };
	uint64_t bytes;

	(void)state;
	assert_int_equal(suppressions_parse(s, "#\n\nleak:c", 9, NULL), 0);
	suppressions_hit(s, 1, 2, 100);
	suppressions_hit(s, 3, 1, 50);
	suppressions_hit(s, 1, 1, 8);
	suppressions_hit(s, 0, 5, 5);
	suppressions_hit(s, 4, 5, 5);
	assert_int_equal(suppressions_each(s, add_up, &sum), 0);
	assert_int_equal(sum.count, 4);
	assert_int_equal(sum.bytes, 158);
	assert_int_equal(sum.rules, 3);
	assert_int_equal(sum.unused, 1);
	assert_int_equal(suppressions_sum(s, &bytes), 4);
	assert_int_equal(bytes, 158);
	assert_int_equal(suppressions_sum(s, NULL), 4);
	suppressions_hit(s, 1, 74, 0);
	sum = (struct sum){ 0 };
	assert_int_equal(suppressions_each(s, add_up, &sum), 1);
	assert_int_equal(sum.rules, 1);
	suppressions_free(s);
	suppressions_free(NULL);
}

static void files_are_read(void **state)
{
	struct suppressions *s = parsed("");
	struct suppressions_error error;
	int pipe_fd[2];

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(write(pipe_fd[1], "leak:x\nleak:y", 13), 13);
	close(pipe_fd[1]);
	assert_int_equal(suppressions_read(s, pipe_fd[0], &error), 0);
	assert_int_equal(rules(s), 2);
	close(pipe_fd[0]);
	assert_int_equal(suppressions_read(s, pipe_fd[0], &error), -EBADF);
	assert_int_equal(error.line, 0);
	assert_string_equal(error.text, strerror(EBADF));
	suppressions_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_in_llvm),
		cmocka_unit_test(comments_and_white_space_do_not_count),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(frames_are_tried_in_order),
		cmocka_unit_test(hits_are_counted),
		cmocka_unit_test(files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
