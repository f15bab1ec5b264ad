/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_musl.c - a whole invented heap of musl's mallocng.
 *
 * The input overwrites pieces of a small well-formed heap (context, metas, groups, slots), so that
 * mutations start from something that gets far. The walk must end soon, and whatever it
 * finds must lie in the heap's memory and agree with its sums; what is not covered must have
 * added nothing.
 */
#include <string.h>

#include "tests/unit/leak_musl_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Which place, where in it (in bytes), how many bytes: then the bytes. */
static void apply_input(struct musl_model *m, const uint8_t *data, size_t size)
{
	while (size > 4) {
		const struct musl_model_place *p = &musl_model_places[data[0] % MUSL_MODEL_PLACES];
		size_t at = (data[1] | (size_t)data[2] << 8) % p->bytes;
		size_t n = data[3] % 48 + 1u;

		n = n < size - 4 ? n : size - 4;
		n = n < p->bytes - at ? n : p->bytes - at;
		memcpy((uint8_t *)m + p->offset + at, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

static int check_block(void *context, const struct block *block)
{
	struct musl_model *m = context;

	if (block->bytes == 0 || block->address % 16 != 0 ||
	    !procmaps_find(&m->picture.maps, block->address) ||
	    !procmaps_find(&m->picture.maps, block->address + block->bytes - 1))
		abort();
	return 0;
}

static void check(struct musl_model *m, struct heap *heap, const struct heap_result *result)
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
	static struct musl_model m;
	struct heap heap = { 0 };
	struct heap_result result;

	musl_model_build(&m);
	apply_input(&m, data, size);
	if (musl_model_open(&m) < 0 || blocks_new(&heap.blocks) < 0 ||
	    heap_walk_musl(&m.picture, m.modules, &heap, &result) < 0)
		abort();
	check(&m, &heap, &result);
	/* Unchanged, the heap must be understood, or the mutations explore nothing. */
	if (size <= 4 && result.live_count != m.live_count)
		abort();
	heap_done(&heap);
	blocks_free(heap.blocks);
	musl_model_close(&m);
	return 0;
}
