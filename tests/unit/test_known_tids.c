/* SPDX-License-Identifier: MIT */
/* test_known_tids.c - threads that are known, and what it costs to ask for each of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "inject/tracee/known_tids.h"

enum { FEW = 4000, MANY = 16 * FEW };

static void known_are_those_before_the_sort(void **state)
{
	struct known_tids known = { 0 };

	(void)state;
	assert_false(known_tids_has(&known, 1));
	for (pid_t tid = 300; tid > 0; tid -= 3)
		assert_int_equal(known_tids_add(&known, tid), 0);
	assert_false(known_tids_has(&known, 300));
	known_tids_sort(&known);
	for (pid_t tid = 1; tid <= 300; tid++)
		assert_int_equal(known_tids_has(&known, tid), tid % 3 == 0);
	assert_int_equal(known_tids_add(&known, 100), 0);
	assert_false(known_tids_has(&known, 100));
	known_tids_sort(&known);
	assert_true(known_tids_has(&known, 100) && known_tids_has(&known, 99));
	known_tids_done(&known);
	assert_int_equal(known.count, 0);
}

static double cpu_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What two listings of so many threads cost. */
static double cost(pid_t threads)
{
	double begun = cpu_now();
	struct known_tids known = { 0 };
	int found = 0;

	for (pid_t tid = 1; tid <= threads; tid++) {
		assert_false(known_tids_has(&known, tid));
		assert_int_equal(known_tids_add(&known, tid), 0);
	}
	known_tids_sort(&known);
	for (pid_t tid = 1; tid <= threads; tid++)
		found += known_tids_has(&known, tid);
	known_tids_done(&known);
	assert_int_equal(found, threads);
	return cpu_now() - begun;
}

/* Sixteen times as many threads: a search through all of them for each would cost 256 times. */
static void cost_grows_with_the_threads(void **state)
{
	double least = 1e9;

	(void)state;
	for (int i = 0; i < 5 && least >= 64; i++) {
		double few = cost(FEW), ratio = cost(MANY) / few;

		least = ratio < least ? ratio : least;
	}
	assert_true(least < 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_are_those_before_the_sort),
		cmocka_unit_test(cost_grows_with_the_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
