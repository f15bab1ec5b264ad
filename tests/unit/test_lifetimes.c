/* SPDX-License-Identifier: MIT */
/* test_lifetimes.c - what is added a little later is added in full, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/live/lifetimes.h"

#define MANY 20u

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void assert_same(const struct lifetimes *a, const struct lifetimes *b)
{
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->count, b->count);
	assert_true(a->max == b->max && a->total == b->total);
	if (a->count)
		assert_memory_equal(a->bucket, b->bucket, a->count * sizeof(*a->bucket));
}

/* Histograms that grow while additions to them wait; looked at now and then. */
static void later_is_as_at_once(void **state)
{
	struct lifetimes once[MANY] = { { 0 } }, later[MANY] = { { 0 } };
	struct lifetimes_later waiting = { .count = 0 };
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (unsigned int turn = 0; turn < 20000; turn++) {
		unsigned int i = (unsigned int)(next_random(&random) % MANY);
		uint64_t ticks = next_random(&random) >> (turn < 10000 ? 40 : 4) >>
				 next_random(&random) % 16;
		double weight = 1 + (double)(turn % 3);

		lifetimes_add(&once[i], ticks, weight);
		lifetimes_add_later(&later[i], ticks, weight, &waiting);
		if (next_random(&random) % 100 == 0) {
			lifetimes_settle(&waiting);
			assert_same(&once[i], &later[i]);
		}
	}
	lifetimes_settle(&waiting);
	for (unsigned int i = 0; i < MANY; i++) {
		assert_same(&once[i], &later[i]);
		lifetimes_done(&once[i]);
		lifetimes_done(&later[i]);
	}
}

/* The oldest of those that wait gives way to the newest. */
static void few_wait(void **state)
{
	struct lifetimes lived = { 0 };
	struct lifetimes_later waiting = { .count = 0 };
	double sum = 0;

	(void)state;
	for (unsigned int i = 0; i < 3 * LIFETIMES_LATER; i++)
		lifetimes_add_later(&lived, 1000, 1, &waiting);
	for (unsigned int i = 0; i < lived.count; i++)
		sum += lived.bucket[i];
	assert_true(sum == 2.0 * LIFETIMES_LATER);
	assert_true(lived.total == 3.0 * LIFETIMES_LATER);
	lifetimes_settle(&waiting);
	lifetimes_settle(&waiting);
	sum = 0;
	for (unsigned int i = 0; i < lived.count; i++)
		sum += lived.bucket[i];
	assert_true(sum == lived.total);
	lifetimes_done(&lived);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_is_as_at_once),
		cmocka_unit_test(few_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
