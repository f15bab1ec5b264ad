/* SPDX-License-Identifier: MIT */
/* test_leak_report.c - the order of groups: by verdict, then by bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "src/leak/findings/leak_report.h"

static struct leak_report *report;

static void add(enum leak_verdict verdict, uint32_t site, uint32_t likely, uint64_t bytes,
		uint64_t indirect)
{
	const struct leak_group group = {
		.verdict = verdict, .site = site, .likely_site = likely, .count = 1,
		.bytes = bytes, .indirect_bytes = indirect, .growth = NAN, .oldest = NAN,
	};

	assert_int_equal(leak_report_add(report, &group), 0);
}

/* The bytes of the groups, in their order: they tell them apart. */
static void assert_order(const uint64_t *bytes, size_t count)
{
	leak_report_sort(report);
	assert_int_equal(report->group_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(report->group[i].bytes, bytes[i]);
}

static int begin(void **state)
{
	(void)state;
	return leak_report_new(&report);
}

static int end(void **state)
{
	(void)state;
	leak_report_free(report);
	return 0;
}

static void order_by_verdict_then_bytes(void **state)
{
	(void)state;
	add(LEAK_GROWING, 3, 0, 9000, 0);
	add(LEAK_DEFINITELY_LOST, 1, 0, 10, 0);
	add(LEAK_DEFINITELY_LOST, 0, 0, 20, 0);
	add(LEAK_DEFINITELY_LOST, 2, 0, 5, 100);
	add(LEAK_POSSIBLY_LOST, 4, 0, 8000, 0);
	assert_order((const uint64_t[]){ 5, 20, 10, 8000, 9000 }, 5);
}

/* A group with a name does not stand above a larger one, though both be of one site. */
static void few_with_a_site_stand_below_many_without(void **state)
{
	(void)state;
	add(LEAK_DEFINITELY_LOST, 0, 7, 5000, 0);	/* a month of what site 7 does now */
	add(LEAK_DEFINITELY_LOST, 8, 0, 300, 0);
	add(LEAK_DEFINITELY_LOST, 7, 0, 200, 0);
	add(LEAK_DEFINITELY_LOST, 0, 0, 5100, 0);	/* of unknown origin */
	add(LEAK_POSSIBLY_LOST, 0, 7, 10000, 0);
	assert_order((const uint64_t[]){ 5100, 5000, 300, 200, 10000 }, 5);
}

static void of_equal_ones_what_has_a_name_is_first(void **state)
{
	(void)state;
	add(LEAK_DEFINITELY_LOST, 0, 0, 60, 40);
	add(LEAK_DEFINITELY_LOST, 9, 0, 100, 0);
	assert_order((const uint64_t[]){ 100, 60 }, 2);
}

static void nothing_is_in_order(void **state)
{
	(void)state;
	assert_order(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order_by_verdict_then_bytes, begin, end),
		cmocka_unit_test_setup_teardown(few_with_a_site_stand_below_many_without, begin,
						end),
		cmocka_unit_test_setup_teardown(of_equal_ones_what_has_a_name_is_first, begin,
						end),
		cmocka_unit_test_setup_teardown(nothing_is_in_order, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
