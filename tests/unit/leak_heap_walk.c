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

static void walk_with(struct walk *w, __typeof__(heap_walk_glibc) *walker,
		      const struct picture *picture, const struct modules *modules,
		      const struct ranges *present)
{
	*w = (struct walk){ .heap = { .residency = { .present = present } } };
	assert_int_equal(blocks_new(&w->heap.blocks), 0);
	assert_int_equal(heap_figures_new(&w->heap.figures), 0);
	assert_int_equal(walker(picture, modules, &w->heap, &w->result), 0);
	ranges_normalize(&w->heap.own);
}

void walk_picture(struct walk *w, __typeof__(heap_walk_glibc) *walker,
		  const struct picture *picture, const struct modules *modules)
{
	walk_with(w, walker, picture, modules, NULL);
}

void walk_lab_with(struct walk *w, __typeof__(heap_walk_glibc) *walker, struct lab *lab,
		   const struct ranges *present)
{
	assert_int_equal(lab_open(lab), 0);
	walk_with(w, walker, &lab->picture, lab->modules, present);
	lab_close(lab);
}

void walk_lab(struct walk *w, __typeof__(heap_walk_glibc) *walker, struct lab *lab)
{
	walk_lab_with(w, walker, lab, NULL);
}

void walk_done(struct walk *w)
{
	heap_figures_free(w->heap.figures);
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

/* Where there are arenas, they hold what was found; their parts are all that they have. */
static void check_figures(const struct walk *w)
{
	const struct heap_figures *f = w->heap.figures;
	const struct heap_arena sum = heap_figures_sum(f, NULL);
	uint64_t free_count = 0, bytes = 0, in_bins = 0;

	if (!f->arena_count)
		return;
	for (int part = 0; part < HEAP_PARTS; part++) {
		bytes += sum.part[part].bytes;
		if (heap_part_is_free((enum heap_part)part) && part != HEAP_TOP)
			free_count += sum.part[part].count;
	}
	for (size_t i = 0; i < f->bin_count; i++)
		in_bins += f->bin[i].sum.count;
	assert_int_equal(sum.part[HEAP_USED].count + f->heap[0].mapped.count,
			 w->result.live_count);
	assert_int_equal(free_count, w->result.free_count);
	assert_int_equal(in_bins, free_count);
	assert_int_equal(bytes, sum.system_bytes);
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
	check_figures(w);
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
