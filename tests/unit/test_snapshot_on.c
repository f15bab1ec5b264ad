/* SPDX-License-Identifier: MIT */
/* test_snapshot_on.c - when a snapshot is due between two intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/live/snapshot_on.h"

static void nothing_is_due_unasked(void **state)
{
	const struct snapshot_triggers none = { .peak = false };
	const struct snapshot_on on = { .live = 0 };

	(void)state;
	assert_int_equal(snapshot_on_due(&on, &none, UINT64_MAX, UINT64_MAX), SNAPSHOT_INTERVAL);
}

/* Since the last snapshot, whatever that was taken for. */
static void bytes_and_growth(void **state)
{
	const struct snapshot_triggers triggers = { .allocated = 1000, .growth = 100 };
	struct snapshot_on on = { .live = 0 };

	(void)state;
	assert_int_equal(snapshot_on_due(&on, &triggers, 999, 99), SNAPSHOT_INTERVAL);
	assert_int_equal(snapshot_on_due(&on, &triggers, 1000, 99), SNAPSHOT_ALLOCATED);
	assert_int_equal(snapshot_on_due(&on, &triggers, 1000, 100), SNAPSHOT_GREW);
	snapshot_on_taken(&on, 1000, 100);
	assert_int_equal(snapshot_on_due(&on, &triggers, 1999, 199), SNAPSHOT_INTERVAL);
	snapshot_on_taken(&on, 1999, 50);	/* it shrank: growth begins there */
	assert_int_equal(snapshot_on_due(&on, &triggers, 2000, 150), SNAPSHOT_GREW);
	assert_int_equal(snapshot_on_due(&on, &triggers, 2999, 20), SNAPSHOT_ALLOCATED);
	/* what was untracked may come off what was allocated: nothing wraps */
	assert_int_equal(snapshot_on_due(&on, &triggers, 0, 0), SNAPSHOT_INTERVAL);
}

static void peaks_are_a_percent_higher(void **state)
{
	const struct snapshot_triggers triggers = { .peak = true };
	struct snapshot_on on = { .live = 0 };
	unsigned int count = 0;

	(void)state;
	assert_int_equal(snapshot_on_due(&on, &triggers, 0, 1), SNAPSHOT_PEAK);
	snapshot_on_taken(&on, 0, 10000);
	snapshot_on_taken(&on, 0, 5);
	assert_int_equal(snapshot_on_due(&on, &triggers, 0, 10100), SNAPSHOT_INTERVAL);
	assert_int_equal(snapshot_on_due(&on, &triggers, 0, 10101), SNAPSHOT_PEAK);
	/* a program that grows a millionfold makes some 1,400 */
	for (uint64_t live = 10000; live < 10000000000; live += live / 2000) {
		if (snapshot_on_due(&on, &triggers, 0, live) == SNAPSHOT_INTERVAL)
			continue;
		snapshot_on_taken(&on, 0, live);
		count++;
	}
	assert_in_range(count, 1200, 1400);
	assert_int_equal(snapshot_on_due(&on, &triggers, 0, UINT64_MAX), SNAPSHOT_PEAK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_due_unasked),
		cmocka_unit_test(bytes_and_growth),
		cmocka_unit_test(peaks_are_a_percent_higher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
