/* SPDX-License-Identifier: MIT */
/*
 * leak_glibc_model.h - a small heap as any glibc from 2.17 on would leave it, in a picture.
 *
 * For versions that can't be run here, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_LEAK_GLIBC_MODEL_H
#define MEMATTACH_TESTS_LEAK_GLIBC_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "src/leak/heap.h"

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
#define MODEL_LIVE	64

struct model {
	const struct model_version *version;
	int memory;
	uint8_t libc[MODEL_LIBC_BYTES], tls[0x1000], mapped[MODEL_MAPPED_BYTES],
		arena[MODEL_HEAP_BYTES], heap[MODEL_HEAP_BYTES];
	uint64_t at, state;		/* where the next chunk goes, and whose it is */
	uint64_t last_size, non_main, unsorted;
	bool last_free;
	size_t live_count, free_count;
	struct block live[MODEL_LIVE];
	struct picture picture;
	struct modules *modules;
};

/* Where the arrays of a struct model lie in the modelled process. */
struct model_area {
	uint64_t address;
	size_t bytes, offset;	/* offset in struct model */
};
#define MODEL_AREAS 5u
extern const struct model_area model_areas[MODEL_AREAS];

/* The byte at address; NULL where bytes from there on are in no area. */
uint8_t *model_byte(struct model *m, uint64_t address, size_t bytes);
/* pre: address lies in an area. */
void model_put(struct model *m, uint64_t address, uint64_t word);
uint64_t model_get(struct model *m, uint64_t address);
void model_put_int(struct model *m, uint64_t address, uint32_t word);
/* Fills the areas, and live and free_count with the truth. pre: zeroed, or built before. */
void model_build(struct model *m, const struct model_version *version);
/* Makes picture and modules of the areas as they are now. 0 or -errno. */
int model_open(struct model *m) _must_check_;
/* Their end; the model may be changed, built and opened again. */
void model_close(struct model *m);
/* The memory of the struct picture in context, for a module_source. */
int model_read_memory(void *context, uint64_t address, void *buffer, size_t bytes);

#endif
