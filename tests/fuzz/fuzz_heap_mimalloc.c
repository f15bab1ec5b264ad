/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_mimalloc.c - a whole invented heap, of each build of mimalloc.
 *
 * The input chooses the build and overwrites pieces of a small well-formed heap (the threads'
 * heaps, segments, pages, blocks), so that mutations start from something that gets far. The
 * walk must end soon, and whatever it finds must lie in mapped segments and agree with its
 * sums; what is not covered must have added nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/leak_mimalloc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Which area, where in it (in words), how many words: then the words. */
static void apply_input(struct mimodel *m, const uint8_t *data, size_t size)
{
	while (size > 4) {
		const struct mimodel_area *area = &mimodel_areas[data[0] % MIMODEL_AREAS];
		size_t at = (data[1] | (size_t)data[2] << 8) * 8 % area->bytes;
		size_t n = (data[3] % 8 + 1u) * 8;

		n = n < size - 4 ? n : size - 4;
		n = n < area->bytes - at ? n : area->bytes - at;
		memcpy((uint8_t *)m + area->offset + at, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

static int check_block(void *context, const struct block *block)
{
	(void)context;
	if (block->bytes == 0 || block->bytes > 32u << 20 || block->address % 8 != 0 ||
	    block->address < MIMODEL_FIRST + 0x10000 ||
	    block->address + block->bytes > MIMODEL_EMPTY + (32u << 20))
		abort();
	return 0;
}

static void check(struct mimodel *m, struct heap *heap, const struct heap_result *result)
{
	blocks_each(heap->blocks, check_block, m);
	if (!memchr(result->why, '\0', sizeof(result->why)) ||
	    !memchr(result->version, '\0', sizeof(result->version)))
		abort();
	if (result->cover == HEAP_COVERED ? blocks_count(heap->blocks) != result->live_count
					  : blocks_count(heap->blocks) + heap->own.count != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mimodel m;
	struct heap heap = { 0 };
	struct heap_result result;

	mimodel_make(&m, size ? (enum mimodel_build)(data[0] % MIMODEL_BUILDS) : MIMODEL_PLAIN);
	if (size > 1)
		apply_input(&m, data + 1, size - 1);
	if (mimodel_open(&m) < 0 || blocks_new(&heap.blocks) < 0 ||
	    heap_walk_mimalloc(&m.picture, m.modules, &heap, &result) < 0)
		abort();
	check(&m, &heap, &result);
	/* Unchanged, the heap must be understood, or the mutations explore nothing. */
	if (size <= 1 && result.live_count != m.live_count)
		abort();
	heap_done(&heap);
	blocks_free(heap.blocks);
	mimodel_close(&m);
	return 0;
}
