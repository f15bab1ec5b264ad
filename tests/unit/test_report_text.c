/* SPDX-License-Identifier: MIT */
/* test_report_text.c - units, the report for people, and names that attack the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>

#include "src/report/elsewhere_text.h"
#include "src/report/human.h"
#include "src/report/printable.h"
#include "tests/unit/sample_session.h"

static void units(void **state)
{
	(void)state;
	assert_string_equal(human_bytes(0).text, "0 B");
	assert_string_equal(human_bytes(1023).text, "1023 B");
	assert_string_equal(human_bytes(1024).text, "1.00 KiB");
	assert_string_equal(human_bytes(12.34 * 1024 * 1024).text, "12.3 MiB");
	assert_string_equal(human_bytes(123.4 * 1024).text, "123 KiB");
	assert_string_equal(human_bytes(1023.9 * 1024).text, "1.00 MiB");
	assert_string_equal(human_bytes((double)UINT64_MAX).text, "16384 PiB");
	assert_string_equal(human_bytes((double)NAN).text, "0 B");
	assert_string_equal(human_bytes_signed(2048).text, "+2.00 KiB");
	assert_string_equal(human_bytes_signed(-3).text, "-3 B");
	assert_string_equal(human_bytes_signed(0.2).text, "0 B");
	assert_string_equal(human_count(0).text, "0");
	assert_string_equal(human_count(9999).text, "9,999");
	assert_string_equal(human_count(12345).text, "12.3 k");
	assert_string_equal(human_count(4.56e6).text, "4.56 M");
	assert_string_equal(human_exact(1234567).text, "1,234,567");
	assert_string_equal(human_exact(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(human_seconds(0).text, "0 s");
	assert_string_equal(human_seconds(950e-9).text, "950 ns");
	assert_string_equal(human_seconds(12.3e-6).text, "12.3 us");
	assert_string_equal(human_seconds(4.56e-3).text, "4.56 ms");
	assert_string_equal(human_seconds(7.8).text, "7.80 s");
	assert_string_equal(human_seconds(123).text, "2 min 3 s");
	assert_string_equal(human_seconds(4 * 3600 + 310).text, "4 h 5 min");
	assert_string_equal(human_seconds(6 * 86400 + 7.5 * 3600).text, "6 d 7 h");
}

static void assert_printable(const char *text, enum printable_for purpose, const char *wanted)
{
	char *copy = printable_copy(text, purpose);

	assert_string_equal(copy, wanted);
	free(copy);
}

static void makes_names_harmless(void **state)
{
	(void)state;
	assert_printable("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", PRINTABLE_TERMINAL,
			 "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_printable("\033[2J\r\n\x7f\xc2\x9b", PRINTABLE_TERMINAL, "?[2J????");
	assert_printable("\xe2\x80\xae" "evil", PRINTABLE_TERMINAL, "?evil");
	assert_printable("\033 \" \\ \x7f \xc2\x9b \xe2\x80\xa8 \xe2\x80\xae \xd8\x9c",
			 PRINTABLE_JSON,
			 "\\u001b \\\" \\\\ \\u007f \\u009b \\u2028 \\u202e \\u061c");
	assert_printable("\xf3\xa0\x81\x81 \xef\xbf\xb9", PRINTABLE_JSON,
			 "\\udb40\\udc41 \\ufff9");
	assert_printable("\xf3\xa0\x81\x81\xe2\x81\xa6\xd8\x9c", PRINTABLE_TEXT, "???");
	/* Broken, overlong, surrogate, too large, cut off. */
	assert_printable("\xff\xc0\x80\xed\xa0\x80", PRINTABLE_JSON,
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_printable("\xf4\x90\x80\x80", PRINTABLE_JSON,
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_printable("a\xe2\x82", PRINTABLE_JSON, "a\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(printable_columns("a\xc3\xa4\xe2\x82\xac"), 3);
	assert_int_equal(printable_columns("\xe6\x97\xa5\xe6\x9c\xac e\xcc\x81"), 6);
}

static void locale_decides(void **state)
{
	static const char name[] = "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80 \xff\033";

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	assert_printable(name, PRINTABLE_TERMINAL,
			 "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80 \xef\xbf\xbd?");
	assert_non_null(setlocale(LC_CTYPE, "C"));
	assert_printable(name, PRINTABLE_TERMINAL, "caf\\u00e9 \\u65e5 \\U0001f600 ??");
	assert_printable(name, PRINTABLE_TEXT,
			 "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80 \xef\xbf\xbd?");
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

static void cut_at_columns(void **state)
{
	char text[] = "a\xe6\x97\xa5\xe6\x9c\xac";

	(void)state;
	printable_cut(text, 5);
	assert_string_equal(text, "a\xe6\x97\xa5\xe6\x9c\xac");
	printable_cut(text, 4);		/* half of a character is none */
	assert_string_equal(text, "a\xe6\x97\xa5");
	printable_cut(text, 0);
	assert_string_equal(text, "");
}

static char *print_sample(const char *report, bool exact, bool leaks, bool color,
			  const struct snapshot_session *changes)
{
	struct sample sample;
	struct snapshot *snapshot;
	struct report_input input;
	char *text;

	sample_init(&sample, exact);
	sample_fill(&sample, exact ? 0 : 4096);
	snapshot = sample_take(&sample, leaks, SNAPSHOT_PRISTINE);
	if (changes) {
		snapshot->session.lost = changes->lost;
		snapshot->session.blocked_seconds = changes->blocked_seconds;
	}
	input = sample_input(&sample, snapshot);
	input.options.color = color;
	text = sample_print(report, &input);
	snapshot_free(snapshot);
	sample_done(&sample);
	return text;
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("missing: %s\nin:\n%s\n", part, text);
	assert_non_null(strstr(text, part));
}

static const char exact_report[] =
	"memattach 0.1.0 watched process 1234: demo \"quoted\" ?[2J\n"
	"  program   /usr/bin/\xef\xbf\xbd" "demo, 2 threads, 1.00 MiB resident\n"
	"  allocator glibc 2.36 in /lib/libc.so.6, 2 entry points hooked:\n"
	"              malloc free\n"
	"  watched   42.0 ms\n"
	"  precision exact: every event, 31 allocations\n"
	"  stacks    3 distinct; 3 unwound, 2 of them not to the thread's start\n"
	"  cost      longest stop of a thread: 61.0 us to attach; left pristine\n"
	"\n"
	"  allocated              31 blocks     29.4 KiB  970 B on average\n"
	"  freed                  10 blocks     9.77 KiB\n"
	"  live                   21 blocks     19.6 KiB\n"
	"  peak live                            29.3 KiB\n"
	"  mapped                  1 maps       8.00 KiB\n"
	"\n"
	"Top 3 of 3 sites by live bytes\n"
	"\n"
	"#1  19.5 KiB live in 20 blocks; growing +465 KiB/s\n"
	"    allocated 29.3 KiB in 30, freed 10, peak 29.3 KiB; lived 30.0 ms (median), 30.0 ms at "
	"the longest\n"
	"      inner<T>::\"f\"                                 src/inner.hpp:12:3 (inlined)\n"
	"      outer?[2J                                     src/outer.cc:99\n"
	"      lib\xc3\xa4.so+0x2fff\n"
	"      0x3000\n"
	"\n"
	"#2  8.00 KiB live in 1 mapping; steady\n"
	"    allocated 8.00 KiB in 1, freed 0, peak 8.00 KiB\n"
	"      inner<T>::\"f\"                                 src/inner.hpp:12:3 (inlined)\n"
	"      outer?[2J                                     src/outer.cc:99\n"
	"      (only the caller is known)\n"
	"\n"
	"#3  64 B live in 1 block; steady\n"
	"    allocated 64 B in 1, freed 0, peak 64 B\n"
	"      inner<T>::\"f\"                                 src/inner.hpp:12:3 (inlined)\n"
	"      outer?[2J                                     src/outer.cc:99\n"
	"      lib\xc3\xa4.so+0x2fff\n"
	"      (cut: could not be followed to the thread's start)\n";

static void prints_exactly_this(void **state)
{
	char *text = print_sample("text", true, false, false, NULL);

	(void)state;
	assert_string_equal(text, exact_report);
	free(text);
}

static void says_how_thin_a_sample_is(void **state)
{
	char *text = print_sample("text", false, false, false, NULL);

	(void)state;
	assert_says(text, "one sample per 4.00 KiB on average; figures rest on 31 samples");
	assert_says(text, "few samples: watch for longer");
	assert_says(text, "--exact");
	assert_says(text, "(95 %: ");
	assert_null(strstr(text, "temporary"));
	free(text);
}

static void says_what_was_lost_and_what_it_changed(void **state)
{
	struct snapshot_session changes = { .blocked_seconds = 1.5 };
	char *text;

	(void)state;
	changes.lost.alloc = 12345;
	changes.lost.alloc_bytes = 2048;
	changes.lost.free = 7;
	text = print_sample("text", true, false, false, &changes);
	assert_says(text, "lost      12,345 allocations (2.00 KiB): allocated is that much");
	assert_says(text, "lost      7 frees: of lost blocks; live is too high by");
	assert_says(text, "waited 1.50 s for the reader");
	free(text);
	text = print_sample("live", true, false, false, &changes);
	assert_says(text, "lost 12.4 k");
	free(text);
}

static void lists_what_was_not_freed(void **state)
{
	char *text = print_sample("text", true, true, false, NULL);

	(void)state;
	assert_says(text, "\nAllocated since the attach and not freed\n");
	assert_says(text, "Not proof of a leak");
	assert_says(text, "19.5 KiB in 20 blocks, the oldest from 11.0 ms after the attach\n"
			  "      0xb000 0xc000 0xd000 0xe000 ...\n");
	assert_says(text, "64 B in 1 block,");
	free(text);
}

static char *print_elsewhere(uint64_t rss, uint64_t live, const char *allocator, bool ended)
{
	struct snapshot_allocator one = { .name = (char *)(uintptr_t)allocator };
	struct snapshot snapshot = {
		.target = { .pid = 7, .rss_bytes = rss, .allocator_count = 1, .allocator = &one },
		.totals.live_bytes_high = live,
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (ended)
		snapshot.session.detached = SNAPSHOT_TARGET_ENDED;
	elsewhere_text_put(out, &snapshot);
	(void)fclose(out);
	return text;
}

/* 157 MiB, of which 3 are in blocks: most of it may be free heap. */
static void says_where_the_rest_may_be(void **state)
{
	char *text = print_elsewhere(157u << 20, 3u << 20, "glibc", false);

	(void)state;
	assert_says(text, "elsewhere         154 MiB of what is resident: ");
	assert_says(text, "memattach -p 7 -d 0 --view=fragmentation\n");
	assert_says(text, "malloc_trim(0) gives back");
	free(text);
	text = print_elsewhere(157u << 20, 3u << 20, "musl", false);
	assert_says(text, "--view=fragmentation\n");
	assert_null(strstr(text, "gives back"));
	free(text);
	text = print_elsewhere(157u << 20, 40u << 20, "glibc", false);
	assert_string_equal(text, "");
	free(text);
	text = print_elsewhere(3u << 20, 0, "glibc", false);
	assert_string_equal(text, "");
	free(text);
	text = print_elsewhere(157u << 20, 3u << 20, "glibc", true);
	assert_string_equal(text, "");
	free(text);
}

static void colors_only_when_asked(void **state)
{
	char *plain = print_sample("text", true, true, false, NULL);
	char *colored = print_sample("text", true, true, true, NULL);

	(void)state;
	assert_null(strchr(plain, '\033'));
	assert_says(colored, "\033[1mTop 3 of 3");
	/* Our own escapes, and none of the target's. */
	assert_null(strstr(colored, "\033[2J"));
	free(plain);
	free(colored);
}

static void live_view_has_a_line_a_site(void **state)
{
	char *text = print_sample("live", true, false, false, NULL);

	(void)state;
	assert_says(text, "42.0 ms  live 19.6 KiB in 21 blocks, peak 29.3 KiB; 83 allocs/s");
	assert_says(text, "    19.5 KiB     +465 KiB/s        20        30  inner<T>::\"f\"");
	free(text);
}

static void reports_without_a_symbolizer(void **state)
{
	struct sample sample;
	struct snapshot *snapshot;
	struct report_input input;
	char *text;

	(void)state;
	sample_init(&sample, true);
	sample_fill(&sample, 0);
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	input = sample_input(&sample, snapshot);
	input.names = report_names_symbolizer(NULL);
	text = sample_print("text", &input);
	assert_says(text, "      module 1+0x1000\n      module 2+0x2000\n      0x3000\n");
	assert_says(text, "still attached");
	free(text);
	snapshot_free(snapshot);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units),
		cmocka_unit_test(makes_names_harmless),
		cmocka_unit_test(locale_decides),
		cmocka_unit_test(cut_at_columns),
		cmocka_unit_test(prints_exactly_this),
		cmocka_unit_test(says_how_thin_a_sample_is),
		cmocka_unit_test(says_what_was_lost_and_what_it_changed),
		cmocka_unit_test(lists_what_was_not_freed),
		cmocka_unit_test(says_where_the_rest_may_be),
		cmocka_unit_test(colors_only_when_asked),
		cmocka_unit_test(live_view_has_a_line_a_site),
		cmocka_unit_test(reports_without_a_symbolizer),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
