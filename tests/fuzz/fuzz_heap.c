/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap.c - see fuzz_heap.h.
 *
 * Knows no allocator. Rejected: checking the lab's truth against what was found after a mutation
 * as well; whether the heap still means the same then is what only the walker could say.
 */
#include "tests/fuzz/fuzz_heap.h"

#include <stdlib.h>
#include <string.h>

void fuzz_heap_mutate(const struct fuzz_heap *fuzz, struct lab *lab, const uint8_t *data,
		      size_t size)
{
	while (size > 4) {
		const struct lab_area *area = &lab->area[data[0] % lab->area_count];
		size_t at = (data[1] | (size_t)data[2] << 8) * fuzz->unit % area->bytes;
		size_t n = (data[3] % fuzz->most + 1u) * fuzz->unit;

		n = n < size - 4 ? n : size - 4;
		n = n < area->bytes - at ? n : area->bytes - at;
		memcpy((uint8_t *)lab + area->offset + at, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

struct check {
	const struct fuzz_heap *fuzz;
	struct lab *lab;
};

static int check_block(void *context, const struct block *block)
{
	const struct check *c = context;

	if (block->bytes == 0 || !c->fuzz->is_possible(c->lab, block))
		abort();
	return 0;
}

static void check_result(const struct heap *heap, const struct heap_result *result)
{
	if (!memchr(result->why, '\0', sizeof(result->why)) ||
	    !memchr(result->version, '\0', sizeof(result->version)))
		abort();
	if (result->cover == HEAP_COVERED ? blocks_count(heap->blocks) != result->live_count
					  : blocks_count(heap->blocks) + heap->own.count != 0)
		abort();
}

void fuzz_heap_walk(const struct fuzz_heap *fuzz, struct lab *lab, bool unchanged)
{
	struct check check = { fuzz, lab };
	struct heap heap = { .blocks = NULL };
	struct heap_result result;

	if (lab_open(lab) < 0 || blocks_new(&heap.blocks) < 0 ||
	    heap_figures_new(&heap.figures) < 0 ||
	    fuzz->walker(&lab->picture, lab->modules, &heap, &result) < 0)
		abort();
	blocks_each(heap.blocks, check_block, &check);
	check_result(&heap, &result);
	if (unchanged && result.live_count != lab->live_count)
		abort();
	heap_figures_free(heap.figures);
	heap_done(&heap);
	blocks_free(heap.blocks);
	lab_close(lab);
}
