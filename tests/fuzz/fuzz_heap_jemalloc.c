/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_jemalloc.c - a whole invented heap of jemalloc.
 *
 * The input overwrites pieces of a small well-formed one (library, page map, records, caches,
 * thread-local storage), so that mutations start from something that gets far. The walk must
 * end soon, and whatever it finds must agree with its sums; what is not covered must have
 * added nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/leak_jemalloc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Which area, where in it (in words), how many words: then the words. */
static void apply_input(struct jemodel *m, const uint8_t *data, size_t size)
{
	struct jemodel_area areas[JEMODEL_AREAS];

	jemodel_areas(m, areas);
	while (size > 4) {
		const struct jemodel_area *area = &areas[data[0] % JEMODEL_AREAS];
		size_t at = (data[1] | (size_t)data[2] << 8) * 8 % area->bytes;
		size_t n = (data[3] % 8 + 1u) * 8;

		n = n < size - 4 ? n : size - 4;
		n = n < area->bytes - at ? n : area->bytes - at;
		memcpy(area->byte + at, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

static int check_block(void *context, const struct block *block)
{
	(void)context;
	if (block->bytes == 0 || block->address % 8 != 0 ||
	    block->address + block->bytes > 1ull << 47)
		abort();
	return 0;
}

static void check(struct heap *heap, const struct heap_result *result)
{
	blocks_each(heap->blocks, check_block, NULL);
	if (!memchr(result->why, '\0', sizeof(result->why)) ||
	    !memchr(result->version, '\0', sizeof(result->version)))
		abort();
	if (result->cover == HEAP_COVERED ? blocks_count(heap->blocks) != result->live_count
					  : blocks_count(heap->blocks) + heap->own.count != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t places[] = { 0, JEMODEL_EXPORTED, JEMODEL_HIDDEN };
	static struct jemodel m;
	struct heap heap = { 0 };
	struct heap_result result;

	jemodel_build(&m);
	m.rip = places[size ? data[0] % ARRAY_SIZE(places) : 0];
	if (size > 1)
		apply_input(&m, data + 1, size - 1);
	if (jemodel_open(&m) < 0 || blocks_new(&heap.blocks) < 0 ||
	    heap_walk_jemalloc(&m.picture, m.modules, &heap, &result) < 0)
		abort();
	check(&heap, &result);
	/* Unchanged, the heap must be understood, or the mutations explore nothing. */
	if (size == 0 && result.live_count != m.live_count)
		abort();
	heap_done(&heap);
	blocks_free(heap.blocks);
	jemodel_close(&m);
	return 0;
}
