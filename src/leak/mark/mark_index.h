/* SPDX-License-Identifier: MIT */
/* mark_index.h - from any word to the segment it may point into, in a few instructions. */
#ifndef MEMATTACH_LEAK_MARK_INDEX_H
#define MEMATTACH_LEAK_MARK_INDEX_H

#include "src/leak/blocks/block_map.h"

#define CELL_SHIFT 20		/* a cell is 1 MiB of addresses */

struct cell {
	uint32_t key;		/* 1 + address >> CELL_SHIFT; 0: free */
	uint32_t from, to;	/* positions in window of the first and last segment in it */
};
struct window {
	uint64_t low, high, base, first;	/* as in struct segment */
	uint32_t shift;
	uint32_t reserved;
};
struct mark_index {
	uint64_t low, span;		/* of all segments */
	uint64_t gap, gap_span;		/* the widest hole between two: brk heap from mappings */
	struct window *window;		/* by address */
	struct cell *cell;		/* open addressing */
	uint64_t mask;
};

/* 0 or -ENOMEM. */
int mark_index_init(struct mark_index *index, const struct blocks *map) _must_check_;
void mark_index_done(struct mark_index *index);
/* The place in the segments that pointer names, BLOCK_NONE. pre: mark_index_may(pointer). */
uint64_t mark_index_place(const struct mark_index *index, uint64_t pointer);

/* The filter: false for nearly every word that is no pointer into a segment. */
static inline bool mark_index_may(const struct mark_index *index, uint64_t pointer)
{
	return pointer - index->low < index->span && pointer - index->gap >= index->gap_span;
}

#endif
