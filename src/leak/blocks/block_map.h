/* SPDX-License-Identifier: MIT */
/*
 * block_map.h - the bits of blocks.h, for blocks.c and the marking.
 *
 * Granules of all segments are numbered through (an *index*); 64 of them share a line, one
 * cache line that holds everything about them, so that following a pointer costs one miss.
 * A *place* is an index and the byte in the granule: index * 16 + byte.
 * During marking start and end are only read; the other words are shared by the workers.
 */
#ifndef MEMATTACH_LEAK_BLOCK_MAP_H
#define MEMATTACH_LEAK_BLOCK_MAP_H

#include "src/leak/blocks/blocks.h"

#define BLOCK_NONE	UINT64_MAX
#define LINE_GRANULES	64u
#define SUMMARY_LEVELS	3

struct line {
	uint64_t start, end;	/* first and last granule of a block */
	uint64_t reach;		/* at a start: reachable */
	uint64_t loose;		/* at a start: met by an interior pointer; elsewhere: hit at +0 */
	uint64_t hit;		/* interior pointer to +8, not yet judged; when lost: indirectly */
	uint64_t pending;	/* at a start: marked and still to be followed */
	uint64_t unread;	/* at a start: may hold pointers that were not yet followed */
	uint32_t records;	/* 1 + offset of its records in those of the chunk; 0: none */
	uint32_t reserved;
};
_Static_assert(sizeof(struct line) == 64, "one cache line");

struct segment {
	uint64_t low, high;
	uint64_t base;		/* low rounded down to a granule */
	uint64_t first;		/* index of base; a multiple of LINE_GRANULES */
	uint32_t shift;		/* log2 of the granule */
	uint32_t tail;		/* bytes of most blocks' last granule; 0: no block yet */
	uint8_t *tails;		/* (bytes - tail) & 15, four bits a granule; NULL: all are tail */
	uint64_t tails_bytes;
	bool aligned;		/* see blocks_set_aligned */
};
struct cliques;
struct blocks {
	struct line *line;		/* mapped */
	uint64_t line_count, line_room;
	uint64_t *summary[SUMMARY_LEVELS];	/* a bit a line that is not empty; then a word */
	uint64_t summary_room[SUMMARY_LEVELS];	/* words */
	struct segment *segment;	/* as added, so by first */
	uint32_t *sorted;		/* positions in segment, by address */
	size_t segment_count, segment_room;
	size_t last;			/* position of the segment of the last add */
	struct ranges ranges;
	bool ranges_stale;
	bool aligned;		/* any segment is */
	uint64_t count, bytes;
	size_t tails_memory;
	struct cliques *cliques;	/* of the last mark_run, see mark_cliques.h */
};

/* Bits bit .. 63, and 0 .. bit. */
static inline uint64_t bits_from(unsigned int bit)
{
	return ~0ull << bit;
}
static inline uint64_t bits_up_to(unsigned int bit)
{
	return ~0ull >> (63 - bit);
}
static inline unsigned int bit_lowest(uint64_t word)
{
	return (unsigned int)__builtin_ctzll(word);
}
static inline unsigned int bit_highest(uint64_t word)
{
	return 63 - (unsigned int)__builtin_clzll(word);
}
static inline struct line *map_line(const struct blocks *map, uint64_t index)
{
	return &map->line[index / LINE_GRANULES];
}
static inline uint64_t map_bit(uint64_t index)
{
	return 1ull << (index % LINE_GRANULES);
}

/* The nearest line below that holds a start or an end; BLOCK_NONE. */
uint64_t map_line_below(const struct blocks *map, uint64_t line);
/* The nearest from line to last (included) that does; BLOCK_NONE. */
uint64_t map_line_from(const struct blocks *map, uint64_t line, uint64_t last);
/* The segment with address in [low, high); NULL. */
const struct segment *map_segment(const struct blocks *map, uint64_t address);
/* The segment of a granule. pre: index is one of a segment. */
const struct segment *map_segment_of(const struct blocks *map, uint64_t index);
/* The first start from index to last (included); BLOCK_NONE. */
uint64_t map_next_start(const struct blocks *map, uint64_t index, uint64_t last);
/* As map_end, when the end is not in the start's line. */
uint64_t map_end_beyond(const struct blocks *map, uint64_t start);
/* Bytes used of the granule end, the last of a block in segment. */
unsigned int map_tail(const struct segment *segment, uint64_t end);

static inline uint64_t map_address(const struct segment *segment, uint64_t index)
{
	return segment->base + ((index - segment->first) << segment->shift);
}
static inline uint64_t map_place(const struct segment *segment, uint64_t address)
{
	uint64_t offset = address - segment->base;

	return (segment->first + (offset >> segment->shift)) << 4 |
	       (offset & ((1u << segment->shift) - 1));
}
/* The last granule of the block at start. pre: there is one. */
static inline uint64_t map_end(const struct blocks *map, uint64_t start)
{
	uint64_t ends = map_line(map, start)->end & bits_from(start % LINE_GRANULES);

	return ends ? (start & ~63ull) + bit_lowest(ends) : map_end_beyond(map, start);
}
static inline struct block map_block(const struct blocks *map, const struct segment *segment,
				     uint64_t start)
{
	uint64_t end = map_end(map, start);

	return (struct block){ map_address(segment, start),
			       ((end - start) << segment->shift) + map_tail(segment, end) };
}

/*
 * The start that is still open where line begins; BLOCK_NONE. Numbers compare by their highest
 * bits: without those granules that are an end as well, the highest start is above every end.
 */
static inline uint64_t map_open_below(const struct blocks *map, uint64_t line)
{
	uint64_t below = map_line_below(map, line);
	const struct line *l;

	if (below == BLOCK_NONE)
		return BLOCK_NONE;
	l = &map->line[below];
	return (l->start & ~l->end) > l->end ? below * LINE_GRANULES + bit_highest(l->start) :
					       BLOCK_NONE;
}
/*
 * The start of the block that holds a granule, with no look at how much of its last granule
 * a block uses; BLOCK_NONE.
 */
static inline uint64_t map_start(const struct blocks *map, uint64_t index)
{
	const struct line *line = map_line(map, index);
	unsigned int bit = index % LINE_GRANULES;
	uint64_t start = line->start & bits_up_to(bit);
	uint64_t ends = line->end & bits_up_to(bit) & ~(1ull << bit);
	unsigned int found;

	if (!start)
		return ends ? BLOCK_NONE : map_open_below(map, index / LINE_GRANULES);
	found = bit_highest(start);
	return ends >> found ? BLOCK_NONE : index - bit + found;
}

#endif
