/* SPDX-License-Identifier: MIT */
/*
 * leak_heap_walk.c - see leak_heap_walk.h.
 *
 * Knows no allocator. What a walker says beyond blocks and their sums (arenas, version,
 * segments, the allocator's own data) is for its own test to check: it differs too much.
 */
#include "tests/unit/leak_heap_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

int walk_setup(void **state, size_t model_bytes)
{
	*state = calloc(1, model_bytes);
	return *state ? 0 : -1;
}

int walk_teardown(void **state)
{
	lab_done(*state);
	free(*state);
	return 0;
}

void walk_picture(struct walk *w, __typeof__(heap_walk_glibc) *walker,
		  const struct picture *picture, const struct modules *modules)
{
	*w = (struct walk){ .heap = { .blocks = NULL } };
	assert_int_equal(blocks_new(&w->heap.blocks), 0);
	assert_int_equal(walker(picture, modules, &w->heap, &w->result), 0);
	ranges_normalize(&w->heap.own);
}

void walk_lab(struct walk *w, __typeof__(heap_walk_glibc) *walker, struct lab *lab)
{
	assert_int_equal(lab_open(lab), 0);
	walk_picture(w, walker, &lab->picture, lab->modules);
	lab_close(lab);
}

void walk_done(struct walk *w)
{
	heap_done(&w->heap);
	blocks_free(w->heap.blocks);
}

struct comparison {
	const struct lab *lab;
	size_t seen;
};

static int is_expected(void *context, const struct block *found)
{
	struct comparison *c = context;

	for (size_t i = 0; i < c->lab->live_count; i++) {
		if (c->lab->live[i].address == found->address) {
			assert_int_equal(c->lab->live[i].bytes, found->bytes);
			c->seen++;
			return 0;
		}
	}
	fail_msg("%llx is not live", (unsigned long long)found->address);
	return 1;
}

void walk_check_truth(const struct walk *w, const struct lab *lab)
{
	struct comparison c = { .lab = lab };

	if (w->result.why[0])
		print_message("%s %s: %s\n", w->result.allocator, w->result.version,
			      w->result.why);
	assert_int_equal(w->result.cover, HEAP_COVERED);
	blocks_each(w->heap.blocks, is_expected, &c);
	assert_int_equal(c.seen, lab->live_count);
	assert_int_equal(w->result.live_count, lab->live_count);
	assert_int_equal(w->result.live_bytes, blocks_bytes(w->heap.blocks));
	assert_int_equal(w->result.free_count, lab->free_count);
}

void walk_check_nothing(const struct walk *w, const char *what, enum heap_cover cover)
{
	if (w->result.cover != cover)
		fail_msg("%s: %d %s", what, w->result.cover, w->result.why);
	assert_int_equal(blocks_count(w->heap.blocks), 0);
	assert_int_equal(w->heap.own.count, 0);
	assert_true(cover == HEAP_ABSENT || w->result.why[0] != '\0');
}

void walk_check_sound(const struct walk *w)
{
	if (w->result.cover == HEAP_COVERED) {
		assert_int_equal(blocks_count(w->heap.blocks), w->result.live_count);
	} else {
		assert_int_equal(blocks_count(w->heap.blocks), 0);
		assert_int_equal(w->heap.own.count, 0);
	}
}
