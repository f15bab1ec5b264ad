/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap_glibc.c - a whole invented heap, of any version of glibc.
 *
 * The input's first byte chooses the version; then pieces of the heap (arenas, mp_, chunks,
 * tcache, TLS) are overwritten (fuzz_heap.h). Blocks lie in the heap's memory.
 */
#include "tests/fuzz/fuzz_heap.h"
#include "tests/unit/leak_glibc_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (2 * MODEL_HEAP_BYTES + MODEL_MAPPED_BYTES)

static bool is_possible(struct lab *lab, const struct block *block)
{
	return block->bytes <= MOST_BYTES && block->address % 16 == 0 &&
	       lab_byte(lab, block->address, block->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_heap fuzz = { heap_walk_glibc, is_possible, 8, 8 };
	static struct model m;

	model_build(&m, &model_versions[size ? data[0] % MODEL_VERSIONS : 0]);
	if (size > 1)
		fuzz_heap_mutate(&fuzz, &m.lab, data + 1, size - 1);
	fuzz_heap_walk(&fuzz, &m.lab, size <= 1);
	return 0;
}
