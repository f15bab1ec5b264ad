/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - every live heap block of a picture, in a few bits each.
 *
 * A block is a place (granule index in its segment), not a record: start, end, marks and
 * work still to do are one bit a granule of 16 (8) bytes, so that all of it together costs
 * 1/16 (1/8) of the heap at most, and next to nothing for large blocks: their middle is
 * never touched. What a pointer points into is found by the nearest bit at or below it,
 * with a summary that makes that near for blocks of any size.
 * Rejected: a sorted array of addresses (8 bytes a block are a quarter of a heap of small
 * blocks, and marks and lists come on top).
 */
#ifndef MEMATTACH_LEAK_BLOCKS_H
#define MEMATTACH_LEAK_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/base/ranges.h"

/* Found, in ascending order of urgency; the first two are no sure leaks. */
enum block_kind {
	BLOCK_REACHABLE = 0,
	BLOCK_POSSIBLY_LOST,	/* only interior pointers lead to it, or to what leads to it */
	BLOCK_INDIRECTLY_LOST,	/* only lost blocks lead to it */
	BLOCK_DEFINITELY_LOST,	/* nothing leads to it, or only what it leads to itself */
	BLOCK_KINDS
};
struct block {
	uint64_t address, bytes;	/* usable */
};

struct blocks;
int blocks_new(struct blocks **ret) _must_check_;
void blocks_free(struct blocks *blocks);
/*
 * A stretch of memory in which blocks may lie, at any time but during mark_run; granule: 8 or
 * 16, every block's address is a multiple of it. 8 costs twice as much: only for stretches
 * that need it. Stretches are disjoint. 0, -EINVAL (empty, granule, at or above 2^47), -EEXIST
 * (overlaps another), -ENOMEM.
 */
int blocks_add_segment(struct blocks *blocks, uint64_t low, uint64_t high,
		       unsigned int granule) _must_check_;
/*
 * The program's pointers to blocks of the segment with address may lie behind their begin, at
 * the next multiple of some power of two (memalign in an allocator that rounds up inside a
 * larger block, and keeps no note of it): any such place counts as a start. 0 or -ENOENT.
 */
int blocks_set_aligned(struct blocks *blocks, uint64_t address) _must_check_;
/* address is the program's pointer to such a block: it begins there from now on. 0, -ENOENT. */
int blocks_set_start(struct blocks *blocks, uint64_t address);
/* All segments, normalized. Valid until the next blocks_add_segment. NULL: no memory. */
const struct ranges *blocks_segments(struct blocks *blocks);
/*
 * A live block, in any order (ascending is fastest), before mark_run. 0; -EINVAL outside every
 * segment, not a multiple of the granule, bytes 0 or beyond the segment's end; -EEXIST there is
 * a block with this address; -ENOMEM. Overlap with others: the later start ends the earlier block.
 */
int blocks_add(struct blocks *blocks, uint64_t address, uint64_t bytes) _must_check_;
/* Takes a block out again (it turned out to be free), before mark_run. 0 or -ENOENT. */
int blocks_remove(struct blocks *blocks, uint64_t address);
/* The block that holds pointer (begin <= pointer < begin + bytes); false: none. */
bool blocks_find(const struct blocks *blocks, uint64_t pointer, struct block *ret);
/*
 * Whether a word that points into block is taken for what is left of a pointer whose lower half a
 * small int was written over: stacks have some of them, and a block that spans a multiple of 4 GiB
 * is where they lead. block_pointer_near() is a filter: false for nearly every word.
 */
#define BLOCK_HALVED_MOST 0x10000u	/* ints below it, and as far below zero */
static inline bool block_pointer_near(uint64_t word)
{
	return (uint32_t)word + BLOCK_HALVED_MOST < 2 * BLOCK_HALVED_MOST;
}
static inline bool block_pointer_halved(const struct block *block, uint64_t word)
{
	uint64_t multiple = (word + BLOCK_HALVED_MOST) >> 32 << 32;

	return block_pointer_near(word) && word != block->address &&
	       multiple > block->address && multiple - block->address < block->bytes;
}
/* In ascending order. each returns not 0 to end it, which is then the result. */
int blocks_each(const struct blocks *blocks,
		int (*each)(void *context, const struct block *block), void *context);
uint64_t blocks_count(const struct blocks *blocks);
uint64_t blocks_bytes(const struct blocks *blocks);
/* Bytes that the map itself takes at most: what it has reserved. */
size_t blocks_memory(const struct blocks *blocks);

#endif
