/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_glibc.c - a whole invented heap, of any version of glibc.
 *
 * The input chooses the version and overwrites pieces of a small well-formed heap (arenas, mp_,
 * chunks, tcache, TLS), so that mutations start from something that gets far. The
 * walk must end soon, and whatever it finds must lie in the heap's memory and agree with its
 * sums; what is not covered must have added nothing.
 */
#include <string.h>

#include "tests/unit/leak_glibc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (2 * MODEL_HEAP_BYTES + MODEL_MAPPED_BYTES)

/* Which area, where in it (in words), how many words: then the words. */
static void apply_input(struct model *m, const uint8_t *data, size_t size)
{
	while (size > 4) {
		const struct model_area *area = &model_areas[data[0] % MODEL_AREAS];
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
	struct model *m = context;

	if (block->bytes == 0 || block->bytes > MOST_BYTES || block->address % 16 != 0 ||
	    !model_byte(m, block->address, block->bytes))
		abort();
	return 0;
}

static void check(struct model *m, struct heap *heap, const struct heap_result *result)
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
	static struct model m;
	struct heap heap = { 0 };
	struct heap_result result;

	model_build(&m, &model_versions[size ? data[0] % MODEL_VERSIONS : 0]);
	if (size > 1)
		apply_input(&m, data + 1, size - 1);
	if (model_open(&m) < 0 || blocks_new(&heap.blocks) < 0 ||
	    heap_walk_glibc(&m.picture, m.modules, &heap, &result) < 0)
		abort();
	check(&m, &heap, &result);
	/* Unchanged, the heap must be understood, or the mutations explore nothing. */
	if (size <= 1 && result.live_count != m.live_count)
		abort();
	heap_done(&heap);
	blocks_free(heap.blocks);
	model_close(&m);
	return 0;
}
