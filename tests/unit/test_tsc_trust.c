/* SPDX-License-Identifier: MIT */
/* test_tsc_trust.c - clocks that differ from processor to processor are told from one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <string.h>
#include <time.h>

#include "inject/tracee/tsc_trust.h"

#define APART_NS 100000000u	/* more than a thread has to wait for its processor */

static uint64_t common(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int first;	/* of the processors that we may have */

static uint64_t apart(void)
{
	return common() + (sched_getcpu() != first ? APART_NS : 0);
}

static void tell_clocks_apart(void **state)
{
	cpu_set_t ours;

	(void)state;
	assert_int_equal(tsc_worst_warp(common), 0);
	sched_getaffinity(0, sizeof(ours), &ours);
	if (CPU_COUNT(&ours) < 2)
		skip();
	while (!CPU_ISSET((size_t)first, &ours))
		first++;
	assert_in_range(tsc_worst_warp(apart), 1, APART_NS);
	sched_setaffinity(0, sizeof(ours), &ours);
}

/* Ours was not bound to a processor by it. */
static void leave_affinity(void **state)
{
	cpu_set_t before, after;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	(void)tsc_worst_warp(common);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

static void judge_what_is_said(void **state)
{
	static const struct {
		struct tsc_facts facts;
		const char *about;
	} cases[] = {
		{ { true, true }, NULL },
		{ { false, true }, NULL },	/* old processors: the kernel watches it */
		{ { true, false }, NULL },	/* kvm-clock: to be tried */
		{ { false, false }, "rate" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *said = tsc_judge(&cases[i].facts);

		assert_true(!said == !cases[i].about);
		if (said)
			assert_non_null(strstr(said, cases[i].about));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tell_clocks_apart),
		cmocka_unit_test(leave_affinity),
		cmocka_unit_test(judge_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
