/* SPDX-License-Identifier: MIT */
/* test_counter_bounds.c - what counters in shared memory can't say is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/watch/counter_bounds.h"

#define HZ 2.5e9

static void true_counters_stay(void **state)
{
	struct reader_losses losses = {
		.alloc = 3000000000, .free = 1, .hidden = 1ull << 50, .alloc_bytes = 1ull << 50,
		.hidden_bytes = 1ull << 52, .blocked_ticks = 10 * 25000000000ull,
	};
	const struct reader_losses before = losses;

	(void)state;
	assert_true(counter_bounds_losses(&losses, 10, HZ));
	assert_memory_equal(&losses, &before, sizeof(losses));
}

static void what_cant_be_becomes_zero(void **state)
{
	(void)state;
	for (size_t i = 0; i < offsetof(struct reader_losses, corrupt) / 8; i++) {
		struct reader_losses losses = { .corrupt = 5 };
		uint64_t *one = (uint64_t *)&losses + i;

		*one = UINT64_MAX - 1;
		assert_false(counter_bounds_losses(&losses, 10, HZ));
		assert_int_equal(*one, 0);
		assert_int_equal(losses.corrupt, 5);
	}
}

static void epochs_take_their_time(void **state)
{
	(void)state;
	assert_true(counter_bounds_epoch(2, 1, 0));
	assert_true(counter_bounds_epoch(12, 1, 10));
	assert_false(counter_bounds_epoch(0, 1, 10));	/* written over with zeros */
	assert_false(counter_bounds_epoch(1, 2, 10));
	assert_false(counter_bounds_epoch(1ull << 40, 1, 3600));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_counters_stay),
		cmocka_unit_test(what_cant_be_becomes_zero),
		cmocka_unit_test(epochs_take_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
