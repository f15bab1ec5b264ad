/* SPDX-License-Identifier: MIT */
/*
 * test_leak_heap_jemalloc.c - live blocks of jemalloc's heap, of a modelled process.
 *
 * Exact agreement for real ones is tests/e2e/leaks-jemalloc.sh's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/leak_heap_walk.h"
#include "tests/unit/leak_jemalloc_model.h"

static int setup(void **state)
{
	return walk_setup(state, sizeof(struct jemodel));
}

static int setup_wide(void **state)
{
	struct jemodel *m;

	if (setup(state))
		return -1;
	m = *state;
	m->wide = true;
	return 0;
}

/* Walks the model as its areas are now. */
static void walk(struct walk *w, struct jemodel *m)
{
	walk_lab(w, heap_walk_jemalloc, &m->lab);
	walk_check_sound(w);
}

static void finds_all_blocks(void **state)
{
	struct jemodel *m = *state;
	struct walk w;

	jemodel_build(m);
	walk(&w, m);
	walk_check_truth(&w, &m->lab);
	assert_string_equal(w.result.version, "5.3.0");
	assert_int_equal(w.result.arenas, 1);
	walk_done(&w);
}

static void keeps_own_structures_apart(void **state)
{
	struct jemodel *m = *state;
	const struct ranges *segments;
	struct walk w;

	jemodel_build(m);
	walk(&w, m);
	assert_true(ranges_contain(&w.heap.own, JEMODEL_ROOT));
	assert_false(ranges_contain(&w.heap.own, JEMODEL_BINS));
	assert_true(ranges_contain(&w.heap.own, JEMODEL_BASE));
	assert_true(ranges_contain(&w.heap.own, JEMODEL_BASE + (4 << 20) - 1));
	assert_true(ranges_contain(&w.heap.own, JEMODEL_STACK));
	assert_true(ranges_contain(&w.heap.own, JEMODEL_MADE));
	/* free pages */
	assert_true(ranges_contain(&w.heap.own, JEMODEL_HEAP + JEMODEL_HEAP_PAGES * 4096 - 1));
	segments = blocks_segments(w.heap.blocks);
	assert_false(ranges_contain(segments, JEMODEL_STACK));
	assert_true(ranges_contain(segments, m->lab.live[0].address));
	walk_done(&w);
}

/* The cache of a thread that is not there: what its stale words point to must be reachable. */
static void leaves_the_cache_of_nobody_to_the_roots(void **state)
{
	struct jemodel *m = *state;
	struct walk w;

	jemodel_build(m);
	lab_put(&m->lab, JEMODEL_MADE + 8 + 37 * 32 + 8, 0);	/* no structs behind the stacks */
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	assert_int_equal(w.result.live_count, m->lab.live_count);
	assert_true(ranges_contain(&w.heap.own, JEMODEL_STACK));
	assert_false(ranges_contain(&w.heap.own, JEMODEL_MADE));
	assert_false(ranges_contain(blocks_segments(w.heap.blocks), JEMODEL_MADE));
	walk_done(&w);
}

#define LEAF_POINTER 1ull
#define ELEMENT 2ull		/* of page 10, as if it had one word */

/* One word of the model, changed to what a thread in the middle of malloc or an overflow leaves. */
static const struct damage {
	const char *what;
	uint64_t address, change;	/* xored */
} damages[] = {
	{ "a count of free regions", JEMODEL_RECORD + 2 * 128, 1ull << 28 },
	{ "a bitmap", JEMODEL_RECORD + 2 * 128 + 64, 4 },
	{ "a slab's class", JEMODEL_RECORD + 2 * 128, 1ull << 20 },
	{ "a slab that is none", JEMODEL_RECORD + 2 * 128, 1ull << 12 },
	{ "an address", JEMODEL_RECORD + 128 * 6 + 8, 0x1000 },
	{ "a size", JEMODEL_RECORD + 128 * 6 + 16, 0x1000 },
	{ "a state", JEMODEL_RECORD + 128 * 5, 1u << 17 },
	{ "an extent of huge pages", JEMODEL_RECORD + 128 * 6, 1u << 14 },
	{ "an element's class", ELEMENT, 1ull << 48 },
	{ "an element's record", ELEMENT, 128 },
	{ "a leaf", LEAF_POINTER, 0x1000 },
	{ "a base", JEMODEL_ROOT - 120, 8 },
	{ "a base block", JEMODEL_BASE, 0x1000 },
	{ "a class", JEMODEL_BINS + 40 * 7, 16 },
	{ "a cache's head", JEMODEL_CACHE + 8, 8 },
	{ "a cache's end", JEMODEL_CACHE + 8 + 16, 0x100ull << 32 },
	{ "a cache's other struct", JEMODEL_SLOW + 168, 0x100 },
	{ "a cache's block", JEMODEL_SLOW + 160, 0x1000 },
};

static void do_damage(struct jemodel *m, const struct damage *damage)
{
	uint64_t where = damage->address, change = damage->change;

	if (where == LEAF_POINTER)
		where = jemodel_leaf_pointer(m);
	if (where == ELEMENT)
		where = jemodel_element(m, 10);
	if (damage->address == ELEMENT && m->wide && change >> 48) {
		where += 8;
		change = change >> 48 << 5;
	}
	lab_put(&m->lab, where, lab_get(&m->lab, where) ^ change);
}

static void refuses_what_does_not_agree(void **state)
{
	struct jemodel *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct walk w;

		jemodel_build(m);
		do_damage(m, &damages[i]);
		walk(&w, m);
		walk_check_nothing(&w, damages[i].what, HEAP_NOT_COVERED);
		walk_done(&w);
		/* With a thread in it, another picture may be better. */
		m->lab.registers.rip = JEMODEL_EXPORTED + 8;
		walk(&w, m);
		if (w.result.cover != HEAP_TORN && i != 7)
			fail_msg("%s: %d %s", damages[i].what, w.result.cover, w.result.why);
		walk_done(&w);
	}
}

static void refuses_pictures_of_threads_at_work_in_it(void **state)
{
	struct jemodel *m = *state;
	struct walk w;

	jemodel_build(m);
	m->lab.registers.rip = JEMODEL_HIDDEN;
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_TORN);
	walk_done(&w);
	/* Where all is whole. */
	m->lab.registers.rip = JEMODEL_EXPORTED;
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	assert_int_equal(w.result.live_count, m->lab.live_count);
	walk_done(&w);
	/* A background thread of its own has no cache. */
	lab_put(&m->lab, JEMODEL_CACHE, 0);
	lab_put(&m->lab, JEMODEL_STACK, 0);
	m->lab.registers.rip = JEMODEL_HIDDEN;
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_COVERED);
	walk_done(&w);
}

/* A block in a cache must be one, of that class, and in one cache only. */
static void refuses_caches_of_what_is_no_block(void **state)
{
	struct jemodel *m = *state;
	static const uint64_t wrong[] = { 16, 1, 0x2000000 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct walk w;
		uint64_t slot;

		jemodel_build(m);
		slot = JEMODEL_STACK + 8 + 2 * 32 + 24;	/* the last of class 2 */
		lab_put(&m->lab, slot, lab_get(&m->lab, slot) + wrong[i]);
		walk(&w, m);
		assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
		walk_done(&w);
		lab_put(&m->lab, slot, lab_get(&m->lab, slot - 8));
		walk(&w, m);
		assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
		walk_done(&w);
	}
}

static void refuses_blocks_where_no_memory_is(void **state)
{
	struct jemodel *m = *state;
	struct walk w;

	jemodel_build(m);
	m->lab.maps = "7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libjemalloc.so.2\n"
		      "7f0000002000-7f0000003000 rw-p 00002000 08:01 77 /lib/libjemalloc.so.2\n"
		      "7f0000003000-7f0000203000 rw-p 00000000 00:00 0\n"
		      "7f0080000000-7f0080400000 rw-p 00000000 00:00 0\n"
		      "7f0100000000-7f0100020000 rw-p 00000000 00:00 0\n"
		      "7f0200000000-7f0200002000 rw-p 00000000 00:00 0\n";
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	walk_done(&w);
}

static void says_which_versions_it_does_not_know(void **state)
{
	struct jemodel *m = *state;
	struct walk w;
	uint8_t *version;

	jemodel_build(m);
	version = memmem(m->lib, sizeof(m->lib), "5.3.0", 5);
	version[2] = '2';
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_NOT_COVERED);
	assert_string_equal(w.result.version, "5.2.0");
	walk_done(&w);
	memset(m->lib + 0x1000, 0, 16);
	walk(&w, m);
	assert_int_equal(w.result.cover, HEAP_ABSENT);
	walk_done(&w);
}

/* Whatever stands there: it ends soon, and what is covered agrees with its sums. */
static void survives_any_words(void **state)
{
	struct jemodel *m = *state;
	uint64_t random = LAB_RANDOM;

	for (unsigned int i = 0; i < 1500; i++) {
		struct walk w;

		jemodel_build(m);
		for (uint64_t n = lab_draw(&random) % 4 + 1; n > 0; n--) {
			uint64_t index = lab_draw(&random) % m->lab.area_count;
			const struct lab_area *a = &m->lab.area[index];
			uint64_t where = a->address + lab_draw(&random) % (a->bytes / 8) * 8;
			uint64_t word = lab_get(&m->lab, where);

			if (lab_draw(&random) % 4 == 0)
				word = JEMODEL_HEAP + lab_draw(&random) % 0x200000;
			else
				word ^= 1ull << lab_draw(&random) % 64;
			lab_put(&m->lab, where, word);
		}
		walk(&w, m);
		walk_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_all_blocks),
		cmocka_unit_test(keeps_own_structures_apart),
		cmocka_unit_test(leaves_the_cache_of_nobody_to_the_roots),
		cmocka_unit_test(refuses_what_does_not_agree),
		cmocka_unit_test(refuses_pictures_of_threads_at_work_in_it),
		cmocka_unit_test(refuses_caches_of_what_is_no_block),
		cmocka_unit_test(refuses_blocks_where_no_memory_is),
		cmocka_unit_test(says_which_versions_it_does_not_know),
		cmocka_unit_test(survives_any_words),
	};

	return cmocka_run_group_tests(tests, setup, walk_teardown) +
	       cmocka_run_group_tests_name("57 bits", tests, setup_wide, walk_teardown);
}
