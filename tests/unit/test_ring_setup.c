/* SPDX-License-Identifier: MIT */
/* test_ring_setup.c - how shared memory is divided, for any total and number of processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inject/attach/ring_setup.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define LEAST_RING (64 * KIB)	/* which a stack copy takes a quarter of at the most */
#define SAMPLED_RING (512 * KIB)

static const uint64_t total[] = { MIB, 4 * MIB - 1, 4 * MIB, 8 * MIB, 64 * MIB, 1024 * MIB };
static const unsigned int cpus[] = { 1, 2, 3, 4, 8, 16, 64, RING_MAX_RINGS, 4 * RING_MAX_RINGS };
enum { TOTALS = sizeof(total) / sizeof(total[0]), CPUS = sizeof(cpus) / sizeof(cpus[0]) };

static void parts_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < TOTALS * CPUS * 2; i++) {
		uint64_t bytes = total[i % TOTALS];
		bool sampled = i >= TOTALS * CPUS;
		struct ring_geometry g = ring_setup_geometry(bytes, cpus[i / TOTALS % CPUS],
							     sampled);

		assert_true(g.ring_count >= 1 && g.ring_count <= RING_MAX_RINGS);
		assert_int_equal(g.ring_bytes & (g.ring_bytes - 1), 0);
		assert_int_equal(g.table_slots & (g.table_slots - 1), 0);
		assert_true(g.ring_bytes >= LEAST_RING);
		assert_true(g.total_bytes > g.ring_count * g.ring_bytes + g.table_slots * 8);
		assert_true(g.total_bytes <= bytes || g.ring_bytes == LEAST_RING);
	}
}

/* Rings of half a megabyte are enough for rare records, and none is larger unless asked for. */
static void sampled_rings_are_small(void **state)
{
	(void)state;
	assert_int_equal(ring_setup_geometry(8 * MIB, 1, true).ring_bytes, SAMPLED_RING);
	assert_int_equal(ring_setup_geometry(8 * MIB, 2, true).ring_bytes, SAMPLED_RING);
	assert_int_equal(ring_setup_geometry(8 * MIB, 8, true).ring_bytes, SAMPLED_RING);
	assert_int_equal(ring_setup_geometry(64 * MIB, 2, true).ring_bytes, 4 * MIB);
	assert_true(ring_setup_geometry(8 * MIB, 2, false).ring_bytes > SAMPLED_RING);
}

/* Of any number that is asked for an answer comes, and its parts are powers of two. */
static void any_total_is_divided(void **state)
{
	static const uint64_t asked[] = { 0, 1, 1ull << 62, 1ull << 63, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct ring_geometry g = ring_setup_geometry(asked[i], 1, i % 2);

		assert_int_equal(g.ring_bytes & (g.ring_bytes - 1), 0);
		assert_true(g.ring_bytes >= LEAST_RING);
	}
}

/* The deepest stacks go into those of up to sixteen processors whole. */
static void whole_stacks_fit(void **state)
{
	(void)state;
	for (unsigned int n = 1; n <= 16; n++)
		assert_true(ring_setup_geometry(8 * MIB, n, true).ring_bytes >=
			    4 * RING_MAX_STACK_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(any_total_is_divided),
		cmocka_unit_test(sampled_rings_are_small),
		cmocka_unit_test(whole_stacks_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
