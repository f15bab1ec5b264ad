/* SPDX-License-Identifier: MIT */
/*
 * test_trace_lines.c - what calls mean, how they are written, which are shown, and the writer that
 * nobody has to wait for.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "src/trace/filter.h"
#include "src/trace/format.h"
#include "src/trace/numbers.h"
#include "src/trace/out.h"

static struct trace_line call_of(enum ring_shape shape, uint64_t first, uint64_t second,
				 uint64_t result)
{
	return (struct trace_line){ .shape = (uint16_t)shape, .begin = 1, .end = 2,
				    .argument = { first, second }, .result = result };
}

static void sizes_and_failures(void **state)
{
	struct trace_line call = call_of(RING_SHAPE_CALLOC, 12, 34, 0xa0);
	uint64_t bytes = 0;

	(void)state;
	assert_true(trace_size(&call, &bytes));
	assert_int_equal(bytes, 12 * 34);
	assert_int_equal(trace_given(&call), 0xa0);
	call = call_of(RING_SHAPE_CALLOC, UINT64_MAX / 4, 8, 0);
	assert_false(trace_size(&call, &bytes));
	assert_true(trace_failed(&call));
	/* that returns NULL: realloc(p, 0) gave p back, realloc(p, 1) and (NULL, 0) failed */
	call = call_of(RING_SHAPE_REALLOC, 0xa0, 0, 0);
	assert_false(trace_failed(&call));
	assert_int_equal(trace_taken(&call), 0xa0);
	call = call_of(RING_SHAPE_REALLOC, 0xa0, 1, 0);
	assert_true(trace_failed(&call));
	assert_int_equal(trace_taken(&call), 0);
	call = call_of(RING_SHAPE_REALLOC, 0, 0, 0);
	assert_true(trace_failed(&call));
	call = call_of(RING_SHAPE_MMAP, 0, 4096, UINT64_MAX);
	assert_true(trace_failed(&call));
	assert_int_equal(trace_given(&call), 0);
	call = call_of(RING_SHAPE_FREE, 0xa0, 0, 0);
	assert_false(trace_size(&call, &bytes));
	call.old_known = true;
	call.old_size = 77;
	assert_true(trace_size(&call, &bytes));
	assert_int_equal(bytes, 77);
}

static void expect_result(const struct trace_line *call, const char *expected)
{
	char text[64];

	(void)trace_result(text, sizeof(text), call);
	assert_string_equal(text, expected);
}

static void expect_number(enum trace_type type, uint64_t value, const char *expected)
{
	char text[100];

	assert_int_equal(trace_number(text, sizeof(text), type, value), strlen(expected));
	assert_string_equal(text, expected);
}

static void writes_numbers_as_c_does(void **state)
{
	struct trace_line call = call_of(RING_SHAPE_MMAP, 0, 4096, UINT64_MAX);
	char small[8];

	(void)state;
	expect_result(&call, " = -1");
	call = call_of(RING_SHAPE_POSIX_MEMALIGN, 0, 24, ENOMEM);
	expect_result(&call, " = 12 ENOMEM");
	call = call_of(RING_SHAPE_POSIX_MEMALIGN, 0, 32, 0);
	call.block = 0xabc0;
	expect_result(&call, " = 0, 0xabc0");
	call = call_of(RING_SHAPE_MALLOC, 1, 0, 0);
	expect_result(&call, " = NULL");
	expect_number(TRACE_INT, 0xffffffff, "-1");
	expect_number(TRACE_PROT, 0, "PROT_NONE");
	expect_number(TRACE_PROT, 0x103, "PROT_READ|PROT_WRITE|0x100");
	expect_number(TRACE_MAP_FLAGS, 0x22, "MAP_PRIVATE|MAP_ANONYMOUS");
	expect_number(TRACE_MAP_FLAGS, 0, "0");
	/* cut, and never beyond its room */
	assert_int_equal(trace_number(small, sizeof(small), TRACE_MAP_FLAGS, UINT64_MAX), 7);
	assert_int_equal(strlen(small), 7);
}

static void filters_by_size_and_thread(void **state)
{
	static const char *const bad[] = { "", "-", "5-3", "x", "1-2-3", "1T", "-5", "1 ",
					   "18446744073709551616", "18446744073709551615K" };
	struct trace_line call = call_of(RING_SHAPE_MALLOC, 100, 0, 0xa0);
	struct trace_filter filter = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(trace_filter_set_size(&filter, bad[i]), -EINVAL);
	assert_int_equal(trace_filter_set_size(&filter, "100-1K"), 0);
	assert_int_equal(filter.size_high, 1024);
	assert_true(trace_filter_call(&filter, &call));
	call.argument[0] = 1025;
	assert_false(trace_filter_call(&filter, &call));
	assert_int_equal(trace_filter_set_size(&filter, "1K-"), 0);
	assert_true(trace_filter_call(&filter, &call));
	assert_int_equal(trace_filter_set_thread(&filter, "main"), -EINVAL);
	assert_int_equal(trace_filter_set_thread(&filter, "12"), 0);
	call.tid = 12;
	assert_true(trace_filter_call(&filter, &call));
	call.tid = 13;
	assert_false(trace_filter_call(&filter, &call));
	assert_int_equal(trace_filter_set_thread(&filter, "0x7f00"), 0);
	call.thread = 0x7f00;
	assert_true(trace_filter_call(&filter, &call));
}

static const struct symbol_frame frames[] = {
	{ .function = "(anonymous namespace)::inner(char const*)", .file = "/src/a.cc", .line = 7,
	  .function_offset = 0x1f, .module = "/usr/bin/prog", .build_id = "", .offset = 0x401f,
	  .inlined = true },
	{ .function = "ns::T<int>::operator()(int) const", .file = "/src/b.cc", .line = 9,
	  .function_offset = 0x1f, .module = "/usr/bin/prog", .build_id = "", .offset = 0x401f },
};

static bool passes(struct trace_filter filter)
{
	return trace_filter_place(&filter, frames, ARRAY_SIZE(frames), false);
}

static void filters_by_place(void **state)
{
	(void)state;
	assert_true(passes((struct trace_filter){ 0 }));
	assert_true(passes((struct trace_filter){ .site = "a.cc:7" }));
	assert_true(passes((struct trace_filter){ .site = "/src/b.cc:9" }));
	assert_false(passes((struct trace_filter){ .site = "a.cc:9" }));
	assert_true(passes((struct trace_filter){ .site = "prog+0x401f" }));
	assert_true(passes((struct trace_filter){
		.site = "ns::T<int>::operator()(int) const+0x1f" }));
	assert_false(passes((struct trace_filter){ .site = "prog+0x401" }));
	assert_false(passes((struct trace_filter){ .site = "+" }));
	assert_true(passes((struct trace_filter){ .module = "prog" }));
	assert_true(passes((struct trace_filter){ .module = "/usr/*" }));
	assert_false(passes((struct trace_filter){ .module = "pro" }));
	assert_true(passes((struct trace_filter){ .function = "(anonymous namespace)::inner" }));
	assert_true(passes((struct trace_filter){ .function = "ns::*" }));
	assert_true(passes((struct trace_filter){ .function = "ns::T<int>::operator()" }));
	assert_false(passes((struct trace_filter){ .function = "inner" }));
	assert_true(trace_filter_called(&(struct trace_filter){ .function = "operator new[]" },
					"operator new[](unsigned long)"));
	assert_false(trace_filter_called(&(struct trace_filter){ 0 }, "malloc"));
}

/* Whatever a hostile ring holds: a line of text, and of JSON an object. */
static void prints_nonsense(void **state)
{
	static struct hook_plan plan = { .entry_count = 1 };
	static struct proto_hello hello;
	const struct ticks ticks = { .hz = 1e9 };
	struct trace_scene text = { .plan = &plan, .hello = &hello, .ticks = &ticks };
	struct trace_scene json = text;
	char *bytes = NULL, *place = trace_format_json.place(frames, ARRAY_SIZE(frames));
	size_t count;
	FILE *out = open_memstream(&bytes, &count);

	(void)state;
	(void)snprintf(plan.entry[0].name, sizeof(plan.entry[0].name), "mal\"\x1b\xff(int)");
	srandom(5);
	for (int i = 0; i < 20000; i++) {
		struct trace_line line;
		json_t *object;

		for (size_t at = 0; at < sizeof(line); at++)
			((uint8_t *)&line)[at] = (uint8_t)(random() % 4 ? random() : 255);
		line.kind = (enum trace_kind)(random() % (TRACE_GAP + 1));
		line.shape %= RING_SHAPE_COUNT + 1;
		line.entry %= 2;
		line.open = line.old_known = random() % 2;
		(void)fseeko(out, 0, SEEK_SET);
		trace_format_text.line(out, &text, &line, "place");
		assert_int_equal(fflush(out), 0);
		assert_ptr_equal(memchr(bytes, '\n', count), bytes + count - 1);
		assert_null(memchr(bytes, '\x1b', count));
		(void)fseeko(out, 0, SEEK_SET);
		trace_format_json.line(out, &json, &line, place);
		assert_int_equal(fflush(out), 0);
		object = json_loadb(bytes, count, JSON_DECODE_INT_AS_REAL, NULL);
		assert_non_null(object);
		json_decref(object);
	}
	(void)fclose(out);
	free(bytes);
	free(place);
}

static void writes_without_waiting(void **state)
{
	struct trace_out *out;
	char bytes[4096], got[4096];
	size_t put = 0, seen = 0;
	int pair[2];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(trace_out_new(pair[1], 16 * sizeof(bytes), &out), 0);
	assert_int_equal(trace_out_put(out, bytes, 17 * sizeof(bytes)), -E2BIG);
	while (trace_out_put(out, bytes, sizeof(bytes)) == 0)
		put += sizeof(bytes);
	assert_int_equal(trace_out_put(out, bytes, sizeof(bytes)), -EAGAIN);
	trace_out_flush(out);
	assert_int_equal(trace_out_error(out), 0);
	while (seen < put) {
		ssize_t count = read(pair[0], got, sizeof(got));

		assert_true(count > 0 && memcmp(got, bytes, (size_t)count) == 0);
		seen += (size_t)count;
	}
	assert_int_equal(trace_out_finish(out), 0);
	/* nobody reads any more: known before anything is written */
	(void)close(pair[0]);
	assert_int_equal(trace_out_error(out), -EPIPE);
	assert_int_equal(trace_out_put(out, bytes, 1), -EPIPE);
	assert_int_equal(trace_out_finish(out), -EPIPE);
	trace_out_free(out);
	(void)close(pair[1]);
}

static void tells_of_a_full_disk(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct trace_out *out;

	(void)state;
	assert_int_equal(trace_out_new(fd, 4096, &out), 0);
	assert_int_equal(trace_out_put(out, "line\n", 5), 0);
	assert_int_equal(trace_out_finish(out), -ENOSPC);
	assert_int_equal(trace_out_error(out), -ENOSPC);
	trace_out_free(out);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_failures),
		cmocka_unit_test(writes_numbers_as_c_does),
		cmocka_unit_test(filters_by_size_and_thread),
		cmocka_unit_test(filters_by_place),
		cmocka_unit_test(prints_nonsense),
		cmocka_unit_test(writes_without_waiting),
		cmocka_unit_test(tells_of_a_full_disk),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
