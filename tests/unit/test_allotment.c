/* SPDX-License-Identifier: MIT */
/* One budget for all sessions: who gets what of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "src/base/cleanup.h"
#include "src/daemon/allotment.h"

#define MOST_SESSIONS 50

static double spent(const struct allotment *each, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += each[i].use * each[i].percent / 100;
	return sum;
}

static void who_fits_gets_what_its_rule_allows(void **state)
{
	struct allotment each[] = { { 2, 1, 0, 0 }, { 0, 5, 0, 0 }, { 0.5, 2, 0, 0 } };

	(void)state;
	allotment_share(each, ARRAY_SIZE(each), 0.04);
	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		assert_true(each[i].percent == each[i].most);
	allotment_share(each, 0, 0.04);
}

static void who_does_not_gets_the_same_as_others(void **state)
{
	struct allotment each[] = { { 1, 10, 0, 0 }, { 3, 10, 0, 0 }, { 1, 0.5, 0, 0 } };

	(void)state;
	allotment_share(each, ARRAY_SIZE(each), 0.085);	/* 0.5 % of one, and 2 % of four */
	assert_true(each[0].most == 0.5 && each[0].percent == 0.5);
	assert_true(fabs(each[1].percent - 2) < 1e-9 && fabs(each[2].percent - 2) < 1e-9);
}

/* An idle process costs nothing: it may spend all that its rule allows once it works. */
static void idle_ones_take_nothing(void **state)
{
	struct allotment each[] = { { 0, 10, 0, 0 }, { 4, 10, 0, 0 }, { 0, 20, 0, 0 } };

	(void)state;
	allotment_share(each, ARRAY_SIZE(each), 0.4);
	assert_true(fabs(each[1].percent - 10) < 1e-9);
	assert_true(each[0].percent == 10 && each[2].percent == 20);
}

static void nobody_gets_nothing(void **state)
{
	struct allotment each[] = { { 64, 1, 0, 0 }, { 64, 1, 0, 0 } };

	(void)state;
	for (double processors = 0; processors > -2; processors--) {
		allotment_share(each, ARRAY_SIZE(each), processors);
		assert_true(each[0].percent == ALLOTMENT_LEAST);
		assert_true(each[1].percent == ALLOTMENT_LEAST);
	}
}

static double drawn(unsigned int *seed, double most)
{
	return most * (double)(rand_r(seed) % 10001) / 10000;
}

/* All of it is spent if more is wanted, never more, and nobody gets more than its rule allows. */
static void any_sessions(void **state)
{
	unsigned int seed = 4711;

	(void)state;
	for (int turn = 0; turn < 10000; turn++) {
		struct allotment each[MOST_SESSIONS];
		size_t count = 1 + (size_t)rand_r(&seed) % MOST_SESSIONS;
		double processors = 0.02 + drawn(&seed, 1), wanted = 0, least = 0, sum;

		for (size_t i = 0; i < count; i++) {
			each[i] = (struct allotment){ .use = drawn(&seed, 2),
						      .most = 0.1 + drawn(&seed, 10) };
			wanted += each[i].use * each[i].most / 100;
			least += each[i].use * ALLOTMENT_LEAST / 100;
		}
		allotment_share(each, count, processors);
		sum = spent(each, count);
		assert_true(sum <= fmax(fmin(wanted, processors), least) + 1e-9);
		assert_true(sum >= fmin(wanted, processors) - 1e-9);
		for (size_t i = 0; i < count; i++)
			assert_true(each[i].percent <= each[i].most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_fits_gets_what_its_rule_allows),
		cmocka_unit_test(who_does_not_gets_the_same_as_others),
		cmocka_unit_test(idle_ones_take_nothing),
		cmocka_unit_test(nobody_gets_nothing),
		cmocka_unit_test(any_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
