/* SPDX-License-Identifier: MIT */
/* test_quantity.c - sizes, times and percentages as people write them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/quantity.h"

static void read_sizes(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint64_t bytes;
	} row[] = {
		{ "0", 0, 0 }, { "512", 0, 512 }, { "512K", 0, 512 << 10 }, { "3m", 0, 3 << 20 },
		{ "2G", 0, 2ull << 30 }, { "17179869183G", 0, 17179869183ull << 30 },
		{ "17179869184G", -ERANGE, 0 }, { "18446744073709551616", -EINVAL, 0 },
		{ "", -EINVAL, 0 }, { "-1", -EINVAL, 0 }, { "1T", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 }, { "K", -EINVAL, 0 }, { "1 K", -EINVAL, 0 },
		{ " -1", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		uint64_t bytes = 0;

		assert_int_equal(quantity_size(row[i].text, &bytes), row[i].error);
		assert_int_equal(bytes, row[i].bytes);
	}
}

static void read_times(void **state)
{
	static const struct {
		const char *text;
		double seconds;		/* negative: refused */
	} row[] = {
		{ "0", 0 }, { "90", 90 }, { "1.5", 1.5 }, { "90s", 90 }, { "250ms", 0.25 },
		{ "2min", 120 }, { "2m", 120 }, { "1.5h", 5400 }, { "7d", 604800 },
		{ "2w", 1209600 }, { "2min 30s", 150 }, { "2min30s", 150 }, { "1h 1", 3601 },
		{ "5 min", 300 }, { "", -1 }, { "min", -1 }, { "-1", -1 }, { "+1", -1 },
		{ "inf", -1 }, { "nan", -1 }, { "1y", -1 }, { "1e300", -1 }, { "2000000000", -1 },
		{ "1,5", -1 }, { "2mins", -1 }, { "1s;", -1 }, { ".", -1 }, { "1s .", -1 },
		{ ".5", 0.5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		double seconds = -1;
		int error = quantity_seconds(row[i].text, &seconds);

		assert_int_equal(error, row[i].seconds < 0 ? -EINVAL : 0);
		assert_true(seconds == row[i].seconds);
	}
}

static void read_percentages(void **state)
{
	static const struct {
		const char *text;
		double percent;		/* 0: refused */
	} row[] = {
		{ "1", 1 }, { "1%", 1 }, { "0.25 %", 0.25 }, { "100%", 100 }, { "0", 0 },
		{ "101", 0 }, { "-1%", 0 }, { "1%%", 0 }, { "", 0 }, { "%", 0 }, { "nan", 0 },
		{ ".", 0 }, { ".%", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		double percent = 0;
		int error = quantity_percent(row[i].text, &percent);

		assert_int_equal(error, row[i].percent == 0 ? -EINVAL : 0);
		assert_true(percent == row[i].percent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_sizes),
		cmocka_unit_test(read_times),
		cmocka_unit_test(read_percentages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
