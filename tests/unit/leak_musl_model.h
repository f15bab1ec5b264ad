/* SPDX-License-Identifier: MIT */
/*
 * leak_musl_model.h - a small heap as musl's mallocng would leave it, in a picture.
 *
 * For damage that a real program does not do to itself, and for the fuzzer.
 */
#ifndef MEMATTACH_TESTS_LEAK_MUSL_MODEL_H
#define MEMATTACH_TESTS_LEAK_MUSL_MODEL_H

#include "tests/unit/leak_heap_lab.h"

#define MUSL_MODEL_LIBC		0x7f1000000000ull
#define MUSL_MODEL_CONTEXT	(MUSL_MODEL_LIBC + 0x4560)
#define MUSL_MODEL_DONATED	(MUSL_MODEL_LIBC + 0x6010)
#define MUSL_MODEL_AREA		0x555555702000ull	/* two pages of metas */
#define MUSL_MODEL_SLOTS	0x7f1000100000ull	/* 16 slots of 1008 bytes, one a group */
#define MUSL_MODEL_SINGLE	0x7f1000200000ull	/* one slot */
#define MUSL_MODEL_ALONE	0x7f1000300000ull	/* a block with a mapping of its own */
#define MUSL_MODEL_FAR		0x7f1001000000ull	/* another, aligned to 2 MiB */
#define MUSL_MODEL_FAR_BYTES	0x210000u
#define MUSL_MODEL_METAS	8

struct musl_model_meta {
	uint64_t prev, next, mem;
	uint32_t avail_mask, freed_mask;
	uint64_t last_idx : 5, freeable : 1, sizeclass : 6, maplen : 52;
};
struct musl_model_area {
	uint64_t check, next;
	int32_t nslots;
	struct musl_model_meta slot[101];
	uint8_t rest[32];
};
struct musl_model_context {
	uint64_t secret;
	int32_t init_done;
	uint32_t mmap_counter;
	uint64_t free_meta_head, avail_meta, avail_meta_count, avail_meta_area_count,
		meta_alloc_shift, meta_area_head, meta_area_tail, avail_meta_areas, active[48],
		usage_by_class[48];
	uint8_t unmap_seq[32], bounces[32], seq;
	uint64_t brk;
};
struct musl_model {
	struct lab lab;
	_Alignas(16) uint8_t libc[0x8000];
	struct musl_model_area area[2];
	uint8_t slots[0x4000], single[0x4000], alone[0x23000], far_low[0x1000], far_middle[0x2000],
		far_end[0x1000];
	size_t metas;
	struct musl_model_meta *meta[MUSL_MODEL_METAS];
};
enum musl_model_group {		/* indices of meta */
	MUSL_MODEL_M_SLOTS, MUSL_MODEL_M_NESTED, MUSL_MODEL_M_SINGLE, MUSL_MODEL_M_ALONE,
	MUSL_MODEL_M_FAR, MUSL_MODEL_M_DONATED,
};

struct musl_model_context *musl_model_context(struct musl_model *m);
/* Fills the areas, and the lab with the truth. pre: zeroed, or built before. */
void musl_model_build(struct musl_model *m);

#endif
