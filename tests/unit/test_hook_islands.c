/* SPDX-License-Identifier: MIT */
/*
 * test_hook_islands.c - islands in invented address spaces: one for what lies
 * together, more for what lies apart, never on each other, never out of reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/plan/hook_islands.h"

#define GIB (1ull << 30)

static struct hook_plan plan;

static void add(uint64_t address)
{
	plan.entry[plan.entry_count++] = (struct hook_entry){ .address = address };
}

static int place(const char *text)
{
	struct procmaps maps;
	int r;

	assert_int_equal(procmaps_parse(text, strlen(text), &maps), 0);
	r = hook_islands_place(&maps, &plan);
	procmaps_done(&maps);
	return r;
}

static int setup(void **state)
{
	(void)state;
	memset(&plan, 0, sizeof(plan));
	return 0;
}

static void check_islands(void)
{
	for (uint32_t i = 0; i < plan.entry_count; i++) {
		const struct hook_entry *e = &plan.entry[i];
		const struct hook_island *island;

		assert_true(e->island < plan.island_count);
		island = &plan.island[e->island];
		assert_true(e->slot < island->pages * 32);
		assert_true(llabs((int64_t)(island->address - e->address)) < (int64_t)GIB);
	}
	for (uint32_t i = 1; i < plan.island_count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			const struct hook_island *a = &plan.island[i], *b = &plan.island[k];

			assert_true(a->address + a->pages * 4096 <= b->address ||
				    b->address + b->pages * 4096 <= a->address);
		}
	}
}

static void place_neighbours(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 40; i++)
		add(0x7f0000001000 + i * 64);
	assert_int_equal(place("7f0000001000-7f0000100000 r-xp 0 08:01 5 /lib\n"), 0);
	assert_int_equal(plan.island_count, 1);
	assert_int_equal(plan.island[0].pages, 3);
	check_islands();
}

/* One page of room between the two: only one of them can have it. */
static void place_once(void **state)
{
	(void)state;
	add(0x7f0000001000);
	add(0x7f0040001000);
	assert_int_equal(place("7e0000000000-7f0020000000 r-xp 0 08:01 5 /lib\n"
			       "7f0020021000-7f1000000000 r-xp 0 08:01 6 /more\n"), 0);
	assert_int_equal(plan.island_count, 1);
	assert_int_equal(plan.entry[0].island, 0);
	assert_int_equal(plan.entry[1].island, HOOK_NO_ISLAND);
}

static void place_apart(void **state)
{
	(void)state;
	add(0x7f0000001000);
	add(0x7f0040001000);
	assert_int_equal(place("7e0000000000-7f0020000000 r-xp 0 08:01 5 /lib\n"
			       "7f0020040000-7f1000000000 r-xp 0 08:01 6 /more\n"), 0);
	assert_int_equal(plan.island_count, 2);
	check_islands();
}

static void place_nowhere(void **state)
{
	(void)state;
	add(0x7f0000001000);
	add(0x400000);
	assert_int_equal(place("400000-500000 r-xp 0 08:01 4 /exe\n"
			       "7e0000000000-7f9000000000 r-xp 0 08:01 5 /lib\n"), 0);
	assert_int_equal(plan.island_count, 1);
	assert_int_equal(plan.entry[0].island, HOOK_NO_ISLAND);
	assert_int_equal(plan.entry[1].island, 0);
}

/* What a moved instruction addresses must be in reach as well. */
static void mind_the_data(void **state)
{
	(void)state;
	add(0x7f0000001000);
	plan.entry[0].fixup_count = 1;
	plan.entry[0].fixup[0].target = 0x7f0000001000 - GIB;
	assert_int_equal(place("7f0000001000-7f0000100000 r-xp 0 08:01 5 /lib\n"), 0);
	assert_int_equal(plan.entry[0].island, HOOK_NO_ISLAND);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(place_neighbours, setup),
		cmocka_unit_test_setup(place_apart, setup),
		cmocka_unit_test_setup(place_once, setup),
		cmocka_unit_test_setup(place_nowhere, setup),
		cmocka_unit_test_setup(mind_the_data, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
