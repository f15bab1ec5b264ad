/* SPDX-License-Identifier: MIT */
/*
 * preattach_blocks.c - see preattach_blocks.h.
 *
 * The start and end bits of the block map (block_map.h) without what marking needs, so a
 * quarter of it: it stays for as long as the session watches. Its segments keep their numbers,
 * and a bit for each line that is not empty leads over large blocks and holes. Nothing is ever
 * added: what is freed leaves for good, since what comes later is in the books.
 *
 * It refuses to judge segments in which the program's pointers may lie behind a block's begin
 * (blocks_set_aligned), and entries of an allocator whose heap was not walked.
 *
 * Rejected: to keep the block map (1/16 of the heap); a sorted array of addresses, which for
 * small blocks is more than that, and slow to take one from.
 */
#include "src/leak/blocks/preattach_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/array.h"
#include "src/leak/blocks/block_map.h"

#define NO_HEAP	UINT8_MAX

struct older_line {
	uint64_t start, end;
};
struct older_segment {
	uint64_t low, high, base;
	uint64_t first;			/* index of base; see block_map.h */
	uint32_t shift, tail;
	uint8_t *tails;			/* owned; NULL: all are tail */
	uint64_t tails_bytes;
	uint8_t heap;			/* NO_HEAP: nobody's, or not to be judged */
};
struct older {
	struct older_line *line;
	uint64_t *filled;		/* a bit a line that is not empty */
	uint64_t line_count;
	struct older_segment *segment;	/* by address */
	size_t segment_count, heap_count;
	struct older_heap heap[OLDER_MAX_HEAPS];
	uint8_t heap_of[RING_MAX_ENTRIES];
	uint64_t count, bytes;
	size_t tails_memory;
};

void older_free(struct older *older)
{
	if (!older)
		return;
	for (size_t i = 0; i < older->segment_count; i++)
		free(older->segment[i].tails);
	free(older->line);
	free(older->filled);
	free(older->segment);
	free(older);
}

static void cleanup_older(struct older **older)
{
	older_free(*older);
}

static uint8_t heap_of_segment(const struct older *older, size_t number)
{
	for (size_t i = 0; i < older->heap_count; i++)
		if (number >= older->heap[i].begin && number < older->heap[i].end)
			return (uint8_t)i;
	return NO_HEAP;
}

static void take_segment(struct older *older, struct blocks *blocks, size_t number)
{
	struct segment *from = &blocks->segment[number];

	older->segment[older->segment_count++] = (struct older_segment){
		.low = from->low, .high = from->high, .base = from->base, .first = from->first,
		.shift = from->shift, .tail = from->tail, .tails = from->tails,
		.tails_bytes = from->tails_bytes,
		.heap = from->aligned ? NO_HEAP : heap_of_segment(older, number),
	};
	from->tails = NULL;
}

static void copy_lines(struct older *older, const struct blocks *blocks)
{
	uint64_t last = older->line_count - 1, at;

	if (older->line_count == 0)
		return;
	for (at = map_line_from(blocks, 0, last); at != BLOCK_NONE;
	     at = at < last ? map_line_from(blocks, at + 1, last) : BLOCK_NONE) {
		older->line[at] = (struct older_line){ blocks->line[at].start,
						       blocks->line[at].end };
		older->filled[at / 64] |= 1ull << (at % 64);
	}
}

int older_new(struct blocks *blocks, const struct older_heap *heap, size_t heap_count,
	      struct older **ret)
{
	_cleanup_(cleanup_older) struct older *older = calloc(1, sizeof(*older));

	if (!older)
		return -ENOMEM;
	older->line_count = blocks->line_count;
	older->line = calloc(older->line_count + 1, sizeof(*older->line));
	older->filled = calloc(older->line_count / 64 + 1, sizeof(*older->filled));
	older->segment = calloc(blocks->segment_count + 1, sizeof(*older->segment));
	if (!older->line || !older->filled || !older->segment)
		return -ENOMEM;
	older->heap_count = heap_count < OLDER_MAX_HEAPS ? heap_count : OLDER_MAX_HEAPS;
	memcpy(older->heap, heap, older->heap_count * sizeof(*heap));
	memset(older->heap_of, NO_HEAP, sizeof(older->heap_of));
	copy_lines(older, blocks);
	for (size_t i = 0; i < blocks->segment_count; i++)
		take_segment(older, blocks, blocks->sorted[i]);
	older->count = blocks->count;
	older->bytes = blocks->bytes;
	older->tails_memory = blocks->tails_memory;
	*ret = older;
	older = NULL;
	return 0;
}

bool older_set_entry(struct older *older, uint16_t entry, const char *allocator)
{
	for (size_t i = 0; i < older->heap_count && entry < RING_MAX_ENTRIES; i++) {
		if (strcmp(older->heap[i].allocator, allocator) == 0) {
			older->heap_of[entry] = (uint8_t)i;
			return true;
		}
	}
	return false;
}

static const struct older_segment *segment_at(const struct older *older, uint64_t address)
{
	size_t low = ARRAY_BISECT(older->segment_count, i, older->segment[i].high <= address);

	if (low == older->segment_count || older->segment[low].low > address)
		return NULL;
	return &older->segment[low];
}

/* The nearest line below that is not empty, from first on; BLOCK_NONE. */
static uint64_t line_below(const struct older *older, uint64_t line, uint64_t first)
{
	uint64_t at = line / 64, word = older->filled[at] & ~bits_from(line % 64), found;

	while (!word && at > first / 64)
		word = older->filled[--at];
	if (!word)
		return BLOCK_NONE;
	found = at * 64 + bit_highest(word);
	return found >= first ? found : BLOCK_NONE;
}

/* The end bit at index or the nearest above it. pre: there is one. */
static uint64_t end_from(const struct older *older, uint64_t index)
{
	uint64_t line = index / 64, ends = older->line[line].end & bits_from(index % 64);

	while (!ends && ++line < older->line_count) {
		if (!older->filled[line / 64])
			line |= 63;	/* all 64 of them are empty */
		else
			ends = older->line[line].end;
	}
	return ends ? line * 64 + bit_lowest(ends) : index;
}

/*
 * The start of the only block that may hold granule index, if it reaches as far; BLOCK_NONE.
 * The nearest line below that is not empty has it, or the end of a block that begins deeper.
 */
static uint64_t start_of(const struct older *older, const struct older_segment *segment,
			 uint64_t index)
{
	uint64_t line = index / 64, starts = older->line[line].start & bits_up_to(index % 64);

	if (!starts) {
		line = line_below(older, line, segment->first / 64);
		starts = line == BLOCK_NONE ? 0 : older->line[line].start;
	}
	return starts ? line * 64 + bit_highest(starts) : BLOCK_NONE;
}

static uint64_t usable_bytes(const struct older *older, const struct older_segment *segment,
			     uint64_t start)
{
	uint64_t end = end_from(older, start), at = end - segment->first;
	unsigned int tail = segment->tail, more;

	if (segment->tails && at / 2 < segment->tails_bytes) {
		more = segment->tails[at / 2] >> (at % 2 * 4) & 15;
		tail = (segment->tail - 1 + more) % 16 + 1;
	}
	return ((end - start) << segment->shift) + tail;
}

/* The block that holds address. */
static bool find(const struct older *older, const struct older_segment *segment, uint64_t address,
		 struct older_block *ret)
{
	uint64_t start = start_of(older, segment, segment->first +
				  ((address - segment->base) >> segment->shift));
	struct older_block block;

	if (start == BLOCK_NONE)
		return false;
	block.address = segment->base + ((start - segment->first) << segment->shift);
	block.bytes = usable_bytes(older, segment, start);
	if (address - block.address >= block.bytes)
		return false;
	*ret = block;
	return true;
}

enum older_place older_find(const struct older *older, uint16_t entry, uint64_t address,
			    struct older_block *ret)
{
	const struct older_segment *segment = segment_at(older, address);

	if (!segment || entry >= RING_MAX_ENTRIES || segment->heap == NO_HEAP ||
	    older->heap_of[entry] != segment->heap)
		return OLDER_UNKNOWN;
	if (!find(older, segment, address, ret))
		return OLDER_FREE;
	return ret->address == address ? OLDER_LIVE : OLDER_INSIDE;
}

static void clear_bit(struct older *older, uint64_t index, bool start)
{
	struct older_line *line = &older->line[index / 64];
	uint64_t mask = ~(1ull << (index % 64));

	if (start)
		line->start &= mask;
	else
		line->end &= mask;
	if (!line->start && !line->end)
		older->filled[index / 64 / 64] &= ~(1ull << (index / 64 % 64));
}

uint64_t older_remove(struct older *older, uint64_t address)
{
	const struct older_segment *segment = segment_at(older, address);
	struct older_block block;
	uint64_t start, end;

	if (!segment || !find(older, segment, address, &block) || block.address != address)
		return 0;
	start = segment->first + ((address - segment->base) >> segment->shift);
	end = end_from(older, start);
	clear_bit(older, start, true);
	clear_bit(older, end, false);
	older->count--;
	older->bytes -= block.bytes;
	return block.bytes;
}

uint64_t older_count(const struct older *older)
{
	return older->count;
}

uint64_t older_bytes(const struct older *older)
{
	return older->bytes;
}

size_t older_memory(const struct older *older)
{
	return sizeof(*older) + older->line_count * sizeof(*older->line) +
	       older->line_count / 8 + older->segment_count * sizeof(*older->segment) +
	       older->tails_memory;
}
