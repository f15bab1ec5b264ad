/* SPDX-License-Identifier: MIT */
/* test_leak_check.c - when leaks are searched for, as settings say it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "src/daemon/leak_check.h"

#define DAY	(20000 * (time_t)86400)		/* midnight */
#define HOUR	3600
#define MANY_TIMES \
	"1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00 1:00"

static double next(const char *value, time_t wall)
{
	struct leak_check check;

	assert_int_equal(leak_check_read(value, &check), 0);
	return leak_check_next(&check, wall);
}

static void find_the_next_one(void **state)
{
	(void)state;
	assert_true(isinf(next("never", DAY)));
	assert_true(isinf(next("on-growth", DAY)));
	assert_true(next("6h", DAY + 5) == 6 * HOUR);
	assert_true(next("4:00", DAY) == 4 * HOUR);
	assert_true(next("04:00", DAY + 4 * HOUR) == 24 * HOUR);
	assert_true(next("04:00", DAY + 4 * HOUR - 1) == 1);
	assert_true(next("16:30 04:00", DAY + 5 * HOUR) == 11.5 * HOUR);
	assert_true(next("16:30 04:00", DAY + 17 * HOUR) == 11 * HOUR);
}

static void refuse_what_is_no_time(void **state)
{
	static const char *const bad[] = { "", "0.5s", "24:00", "4:60", "4:5", "4:00,5:00", "4:00x",
					   "always", "-1:00", MANY_TIMES };
	struct leak_check check = { .every = 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(leak_check_read(bad[i], &check), -EINVAL);
	assert_true(check.every == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_the_next_one),
		cmocka_unit_test(refuse_what_is_no_time),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
