/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_jemalloc.c - a whole invented heap of jemalloc.
 *
 * The input's first byte chooses where the thread stands, and the form of the page map; then pieces
 * of the heap (library, page map, records, caches, thread-local storage) are overwritten
 * (fuzz_heap.h).
 */
#include "tests/fuzz/fuzz_heap.h"
#include "tests/unit/leak_jemalloc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_possible(struct lab *lab, const struct block *block)
{
	(void)lab;
	return block->address % 8 == 0 && block->address + block->bytes <= 1ull << 47;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_heap fuzz = { heap_walk_jemalloc, is_possible, 8, 8 };
	static const uint64_t places[] = { 0, JEMODEL_EXPORTED, JEMODEL_HIDDEN };
	static struct jemodel m;

	m.wide = size && data[0] & 0x80;
	jemodel_build(&m);
	m.lab.registers.rip = places[size ? (data[0] & 0x7f) % ARRAY_SIZE(places) : 0];
	if (size > 1)
		fuzz_heap_mutate(&fuzz, &m.lab, data + 1, size - 1);
	fuzz_heap_walk(&fuzz, &m.lab, size == 0);
	return 0;
}
