/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_mimalloc.c - a whole invented heap, of each build of mimalloc.
 *
 * The input's first byte chooses the build; then pieces of the heap (the threads' heaps,
 * segments, pages, blocks) are overwritten (fuzz_heap.h). Blocks lie in mapped segments.
 */
#include "tests/fuzz/fuzz_heap.h"
#include "tests/unit/leak_mimalloc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_possible(struct lab *lab, const struct block *block)
{
	(void)lab;
	return block->bytes <= 32u << 20 && block->address % 8 == 0 &&
	       block->address >= MIMODEL_FIRST + 0x10000 &&
	       block->address + block->bytes <= MIMODEL_EMPTY + (32u << 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_heap fuzz = { heap_walk_mimalloc, is_possible, 8, 8 };
	static struct mimodel m;

	mimodel_make(&m, size ? (enum mimodel_build)(data[0] % MIMODEL_BUILDS) : MIMODEL_PLAIN);
	if (size > 1)
		fuzz_heap_mutate(&fuzz, &m.lab, data + 1, size - 1);
	fuzz_heap_walk(&fuzz, &m.lab, size <= 1);
	return 0;
}
