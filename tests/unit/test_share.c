/* SPDX-License-Identifier: MIT */
/* test_share.c - who can't keep up rests where all processors are busy, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/watch/share.h"

#define MS 1000000u

static void tell_runnable(void **state)
{
	static const struct {
		const char *text;
		long count;
	} told[] = {
		{ "0.20 0.18 0.12 1/80 11206\n", 1 }, { "9.99 8.88 7.77 123/4567 1\n", 123 },
		{ "3/4", 3 }, { "", -1 }, { "/", -1 }, { "0.1 0.2 0.3 /80 1", -1 },
		{ "0.1 0.2 0.3 12 1", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		assert_int_equal(share_runnable(told[i].text), told[i].count);
}

/*
 * The share of CPU time of somebody who works work ms between rests, beside so many others, on so
 * many processors, in percent of one.
 */
static unsigned int kept(double processors, long others, unsigned int work, bool losing)
{
	struct share share = { .file = -1, .processors = processors };
	uint64_t wall = 1, cpu = 0;

	for (unsigned int i = 0; i < 500; i++) {
		uint64_t rest = share_rest(&share, wall, cpu, 1 + others, losing);

		assert_true(rest <= 100 * MS);
		wall += rest + (uint64_t)work * MS;
		cpu += (uint64_t)work * MS;
	}
	return (unsigned int)(cpu * 100 / (wall - 1));
}

static void rest_where_all_are_busy(void **state)
{
	(void)state;
	assert_in_range(kept(1, 1, 1, true), 25, 26);
	assert_in_range(kept(2, 2, 1, true), 50, 51);
	assert_in_range(kept(2, 8, 30, true), 50, 51);
	assert_in_range(kept(3, 9, 5, true), 75, 76);
	assert_int_equal(kept(4, 64, 5, true), 100);	/* one of four is the share */
	assert_int_equal(kept(2, 1, 5, true), 100);	/* nobody waits for us */
	assert_int_equal(kept(2, 8, 5, false), 100);	/* we keep up */
}

/* One that is not given a processor at all times rests the less; none is saved up. */
static void waiting_is_resting(void **state)
{
	struct share share = { .file = -1, .processors = 2 };
	uint64_t wall = 1, cpu = 0, rest;

	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(share_rest(&share, wall, cpu, 9, true), 0);
		wall += 10 * MS;
		cpu += 4 * MS;
	}
	assert_int_equal(share_rest(&share, wall, cpu, 9, true), 0);
	wall += 10 * MS;
	cpu += 10 * MS;
	rest = share_rest(&share, wall, cpu, 9, true);
	assert_in_range(rest, 10 * MS - 1, 10 * MS + 1);
}

/* What was taken while nobody minded is not owed; a look that fails changes nothing. */
static void nothing_is_owed_from_before(void **state)
{
	struct share share = { .file = -1, .processors = 2 };

	(void)state;
	assert_int_equal(share_rest(&share, 1, 0, 9, false), 0);
	assert_int_equal(share_rest(&share, 1000ull * MS, 999ull * MS, 9, false), 0);
	assert_int_equal(share_rest(&share, 1001ull * MS, 1000ull * MS, -1, true), 0);
	assert_in_range(share_rest(&share, 1002ull * MS, 1001ull * MS, 9, true), 2 * MS - 2,
			2 * MS + 2);
}

/* The machine itself: nothing is held back as long as nothing is lost. */
static void look_at_this_machine(void **state)
{
	struct share share;

	(void)state;
	share_open(&share);
	assert_true(share.file >= 0 && share.processors >= 1);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(share_turn(&share, false), 0);
	assert_true(share.runnable >= 1);
	share_close(&share);
	assert_int_equal(share_turn(&share, true), 0);	/* closed: it can't be told */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tell_runnable),
		cmocka_unit_test(rest_where_all_are_busy),
		cmocka_unit_test(waiting_is_resting),
		cmocka_unit_test(nothing_is_owed_from_before),
		cmocka_unit_test(look_at_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
