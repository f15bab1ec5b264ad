/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_musl.c - a whole invented heap of musl's mallocng.
 *
 * The input overwrites pieces of the heap (context, metas, groups, slots; fuzz_heap.h): bytes,
 * not words, since that is what the headers of slots consist of. Blocks lie in mapped memory.
 */
#include "tests/fuzz/fuzz_heap.h"
#include "tests/unit/leak_musl_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_possible(struct lab *lab, const struct block *block)
{
	return block->address % 16 == 0 && procmaps_find(&lab->picture.maps, block->address) &&
	       procmaps_find(&lab->picture.maps, block->address + block->bytes - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_heap fuzz = { heap_walk_musl, is_possible, 1, 48 };
	static struct musl_model m;

	musl_model_build(&m);
	fuzz_heap_mutate(&fuzz, &m.lab, data, size);
	fuzz_heap_walk(&fuzz, &m.lab, size <= 4);
	return 0;
}
