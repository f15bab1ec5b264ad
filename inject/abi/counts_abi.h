/* SPDX-License-Identifier: MIT */
/*
 * counts_abi.h - what the shim counts in RING_MODE_COUNT, and where (docs/COUNTS.md).
 *
 * A part of the ring's mapping (control.counts_offset), freestanding like ring_abi.h:
 *
 *	struct counts_head
 *	control.counts_slots owners: the thread pointer whose block it is, 0: nobody's yet
 *	as many blocks of control.counts_block bytes: each only its owner's to add to
 *	struct counts_shared, for threads without a block and for what a block has no room for
 *
 * Everything is zero at first, is only ever added to, and never changes its place: who reads
 * it at any time finds sums that were right, and later ones that are at least as large. A
 * block belongs to its thread pointer for good, so one instruction without a lock adds to it.
 */
#ifndef MEMATTACH_COUNTS_ABI_H
#define MEMATTACH_COUNTS_ABI_H

#include <stdbool.h>

#include "inject/abi/ring_abi.h"

#define COUNTS_SMALL	1024u	/* sizes below have a place each */
#define COUNTS_FAMILIES	16u	/* of entry points: ring_entry.family */
#define COUNTS_PAGE	4096u	/* what a bit of a table's map stands for */
#define COUNTS_LINES	16u	/* counts_shared.totals: by CPU, to keep writers apart */

/* Of a thread's block, and of all together. Powers of two. */
#define COUNTS_SIZES		1024u
#define COUNTS_PATHS		4096u
#define COUNTS_SHARED_SIZES	16384u
#define COUNTS_SHARED_PATHS	65536u
#define COUNTS_MAP_WORDS(places, bytes) (((places) * (bytes) / COUNTS_PAGE + 63u) / 64u)

/* How much is counted; each is all of the one before, and more. */
enum counts_kind {
	COUNTS_NONE = 0,
	COUNTS_TOTALS,		/* calls and bytes */
	COUNTS_HISTOGRAM,	/* requested sizes */
	COUNTS_SITES,		/* call paths, with steps of sizes */
	COUNTS_KINDS
};

/* How the usable size of a block is known. */
enum counts_usable_kind {
	COUNTS_USABLE_NONE = 0,	/* it is not */
	COUNTS_USABLE_CHUNK,	/* glibc's chunk: by the word before the block */
	COUNTS_USABLE_CALL,	/* by the allocator's own function */
};
struct counts_usable {
	uint64_t kind;		/* enum counts_usable_kind */
	uint64_t function;	/* COUNTS_USABLE_CALL: its address */
};

/* Written by memattach before the mode is set. */
struct counts_head {
	uint64_t kind;		/* enum counts_kind */
	uint64_t reserved[7];
	struct counts_usable usable[COUNTS_FAMILIES];
};

/* One cache line. Blocks of which no usable size is known are in *_unsized. */
struct counts_totals {
	uint64_t alloc_count, alloc_bytes;	/* bytes as asked for */
	uint64_t alloc_usable, alloc_unsized;
	uint64_t free_count, free_usable, free_unsized;
	uint64_t reserved;
};

/* A requested size of COUNTS_SMALL or more. */
struct counts_size {
	uint64_t key;		/* size + 1; 0: free */
	uint64_t count;
};

/* A call path and a step of sizes. What it is stands there once count is not 0. */
struct counts_path {
	uint64_t key;		/* counts_path_key(); 0: free */
	uint64_t detail;	/* counts_detail() */
	uint64_t count, bytes;
};

/* What did not fit anywhere. */
struct counts_rest {
	uint64_t count, bytes;
};

/* A thread's. Maps: bit i is set before anything is put into page i of the table. */
struct counts_block {
	struct counts_totals totals;
	uint64_t size_map[COUNTS_MAP_WORDS(COUNTS_SIZES, 16u)];
	uint64_t path_map[COUNTS_MAP_WORDS(COUNTS_PATHS, 32u)];
	uint64_t pad[6];
	uint64_t small[COUNTS_SMALL];		/* from COUNTS_HISTOGRAM on */
	struct counts_size size[COUNTS_SIZES];
	struct counts_path path[COUNTS_PATHS];	/* COUNTS_SITES */
};

/* Everybody's: added to with locked instructions. */
struct counts_shared {
	struct counts_totals totals[COUNTS_LINES];
	struct counts_rest sizes_left, paths_left;
	uint64_t pad[4];
	uint64_t size_map[COUNTS_MAP_WORDS(COUNTS_SHARED_SIZES, 16u)];
	uint64_t path_map[COUNTS_MAP_WORDS(COUNTS_SHARED_PATHS, 32u)];
	uint64_t pad2[7];
	uint64_t small[COUNTS_SMALL];
	struct counts_size size[COUNTS_SHARED_SIZES];
	struct counts_path path[COUNTS_SHARED_PATHS];
};

/* Bytes of one block, of all that is shared. */
static inline uint64_t counts_block_bytes(uint32_t kind)
{
	if (kind == COUNTS_SITES)
		return sizeof(struct counts_block);
	return kind == COUNTS_HISTOGRAM ? offsetof(struct counts_block, path) :
					  offsetof(struct counts_block, small);
}
static inline uint64_t counts_shared_bytes(uint32_t kind)
{
	if (kind == COUNTS_SITES)
		return sizeof(struct counts_shared);
	return kind == COUNTS_HISTOGRAM ? offsetof(struct counts_shared, path) :
					  offsetof(struct counts_shared, small);
}

/*
 * Steps of sizes: below 8 each has its own; from there on 8 to a doubling, and step s
 * begins at (8 + s % 8) << (s / 8 - 1).
 */
static inline uint32_t counts_step(uint64_t size)
{
	uint32_t top;

	if (size < 8)
		return (uint32_t)size;
	top = 63u - (uint32_t)__builtin_clzll(size);
	return (top - 2) * 8 + (uint32_t)(size >> (top - 3) & 7);
}
static inline uint64_t counts_step_low(uint32_t step)
{
	return step < 8 ? step : (uint64_t)(8 + step % 8) << (step / 8 - 1);
}
#define COUNTS_STEPS 496u	/* of all 64-bit sizes */

/* Never 0. by_caller: the path is not known; it is the return address of the call instead. */
#define COUNTS_BY_CALLER (1u << 15)
static inline uint64_t counts_detail(uint64_t size, bool by_caller)
{
	return (counts_step(size) + 1) | (by_caller ? COUNTS_BY_CALLER : 0);
}
static inline uint32_t counts_detail_step(uint64_t detail)
{
	return (uint32_t)(detail & (COUNTS_BY_CALLER - 1)) - 1;
}

/* One word that stands for both, and from which the path can be had again. */
#define COUNTS_SPREAD 0x9e3779b97f4a7c15ull
static inline uint64_t counts_path_key(uint64_t path, uint64_t detail)
{
	return path + detail * COUNTS_SPREAD;
}
static inline uint64_t counts_path_of(uint64_t key, uint64_t detail)
{
	return key - detail * COUNTS_SPREAD;
}

RING_ASSERT(sizeof(struct counts_totals) == RING_LINE, "totals are one line");
RING_ASSERT(sizeof(struct counts_size) == 16, "four to a line");
RING_ASSERT(sizeof(struct counts_path) == 32, "two to a line");
RING_ASSERT(sizeof(struct counts_head) % RING_LINE == 0, "owners begin a line");
RING_ASSERT(offsetof(struct counts_block, small) == 2 * RING_LINE, "totals share no line");
RING_ASSERT(sizeof(struct counts_block) % RING_LINE == 0, "blocks begin lines");
RING_ASSERT(offsetof(struct counts_block, path) % RING_LINE == 0, "blocks begin lines");
RING_ASSERT(offsetof(struct counts_shared, small) % RING_LINE == 0, "lines are not shared");
RING_ASSERT(offsetof(struct counts_shared, path) % RING_LINE == 0, "entries in one line each");

#endif
