/* SPDX-License-Identifier: MIT */
/* test_ring_interval.c - intervals in sixteen bits: said exactly or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/abi/ring_abi.h"

#define MOST (1ull << 42)

static void is_exact_or_nothing(uint64_t interval)
{
	uint16_t packed = ring_interval_pack(interval);
	uint64_t rounded = ring_interval_round(interval);

	if (packed)
		assert_true(ring_interval_unpack(packed) == interval);
	/* what is rounded to is said, and is near */
	if (interval && interval < MOST)
		assert_true(ring_interval_unpack(ring_interval_pack(rounded)) == rounded);
	assert_true(rounded <= interval);
	assert_true(interval - rounded <= interval >> 10);
	if (packed)
		assert_true(rounded == interval);
}

static void small_ones_are_said(void **state)
{
	(void)state;
	assert_int_equal(ring_interval_pack(0), 0);
	assert_true(ring_interval_unpack(0) == 0);
	for (uint64_t i = 1; i < 2048; i++) {
		assert_true(ring_interval_pack(i) != 0);
		is_exact_or_nothing(i);
	}
	assert_int_equal(ring_interval_pack(2049), 0);
	assert_int_equal(ring_interval_pack(4099), 0);
}

static void usual_ones_are_said(void **state)
{
	static const uint64_t usual[] = { 4096, 10000, 65536, 100000, 512 << 10, 1 << 20,
					  1ull << 30, 1000000000, 64ull << 30 };

	(void)state;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		is_exact_or_nothing(usual[i]);
	assert_true(ring_interval_pack(4096) != 0 && ring_interval_pack(512 << 10) != 0 &&
		    ring_interval_pack(10000) != 0);
}

static void every_power_and_its_neighbours(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		for (uint64_t d = 0; d <= 6; d++)
			is_exact_or_nothing((1ull << i) - 3 + d);
	assert_int_equal(ring_interval_pack(UINT64_MAX), 0);
	assert_int_equal(ring_interval_pack(MOST), 0);
	assert_true(ring_interval_unpack(ring_interval_pack(MOST - (1ull << 31))) ==
		    MOST - (1ull << 31));
}

static void any(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		is_exact_or_nothing(x >> (x & 63));
	}
	/* whatever a forged record says is some number */
	for (uint32_t packed = 0; packed <= UINT16_MAX; packed++)
		assert_true(ring_interval_unpack((uint16_t)packed) < MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_ones_are_said),
		cmocka_unit_test(usual_ones_are_said),
		cmocka_unit_test(every_power_and_its_neighbours),
		cmocka_unit_test(any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
