/* SPDX-License-Identifier: MIT */
/*
 * leak_glibc_model.h - a small heap as any glibc from 2.17 on would leave it, in a picture.
 *
 * For versions that can't be run here, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_LEAK_GLIBC_MODEL_H
#define MEMATTACH_TESTS_LEAK_GLIBC_MODEL_H

#include "tests/unit/leak_heap_lab.h"

/* Offsets of one version; what it has not is 0. */
struct model_version {
	unsigned int minor;
	size_t flags, fast, top, bins, next, attached, system_mem, state_bytes;
	size_t n_mmaps, mmapped_mem, sbrk_base;
	size_t heap_info, tcache_chunk, tcache_count, tcache_bins;
};
#define MODEL_VERSIONS 10u
extern const struct model_version model_versions[MODEL_VERSIONS];

#define MODEL_LIBC	0x7f0000000000ull
#define MODEL_LIBC_BYTES 0x8000u
#define MODEL_MAIN	(MODEL_LIBC + 0x4ac0)
#define MODEL_PAR_AT	(MODEL_LIBC + 0x4180)
#define MODEL_TLS	0x7f0000100000ull
#define MODEL_FS	(MODEL_TLS + 0xc00)
#define MODEL_MAPPED	0x7f0001000000ull	/* two blocks with mappings of their own */
#define MODEL_MAPPED_BYTES 0x44000u
#define MODEL_ARENA	0x7f0004000000ull	/* a heap of another arena */
#define MODEL_HEAP	0x555555800000ull
#define MODEL_HEAP_BYTES 0x21000u

struct model {
	struct lab lab;
	const struct model_version *version;
	uint8_t libc[MODEL_LIBC_BYTES], tls[0x1000], mapped[MODEL_MAPPED_BYTES],
		arena[MODEL_HEAP_BYTES], heap[MODEL_HEAP_BYTES];
	uint64_t at, state;		/* where the next chunk goes, and whose it is */
	uint64_t last_size, non_main, unsorted;
	bool last_free;
};

/* Fills the areas, and the lab with the truth. pre: zeroed, or built before. */
void model_build(struct model *m, const struct model_version *version);

#endif
