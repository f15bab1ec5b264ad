/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - see blocks.h and block_map.h.
 *
 * Every block has its start and its end bit set, and bits never contradict: of two blocks that
 * overlap the earlier is cut when the later is added, so that readers need only the nearest bit.
 * Sizes are exact: what a block uses of its last granule is the same for nearly all blocks of a
 * segment (glibc: 8 of 16), and an array for those that differ is made only where there are any.
 * The lines of all segments form one mapping that grows in place or is moved by the kernel.
 */
#include "src/leak/blocks/block_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/array.h"
#include "src/base/huge_pages.h"
#include "src/leak/blocks/mark_cliques.h"

#define HIGHEST_ADDRESS	(1ull << 47)

int blocks_new(struct blocks **ret)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	*ret = blocks;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < blocks->segment_count; i++)
		free(blocks->segment[i].tails);
	for (int level = 0; level < SUMMARY_LEVELS; level++)
		free(blocks->summary[level]);
	if (blocks->line)
		munmap(blocks->line, blocks->line_room * sizeof(struct line));
	cliques_free(blocks->cliques);
	ranges_done(&blocks->ranges);
	free(blocks->segment);
	free(blocks->sorted);
	free(blocks);
}

/* ---- the summary ---- */

static uint64_t descend(const struct blocks *map, int level, uint64_t found, bool highest)
{
	while (level-- > 0) {
		uint64_t word = map->summary[level][found];

		found = found * 64 + (highest ? bit_highest(word) : bit_lowest(word));
	}
	return found;
}

uint64_t map_line_below(const struct blocks *map, uint64_t line)
{
	uint64_t at = line, word;
	int level = 0;

	for (; level < SUMMARY_LEVELS - 1; level++, at /= 64) {
		word = map->summary[level][at / 64] & ~bits_from(at % 64);
		if (word)
			return descend(map, level, (at & ~63ull) + bit_highest(word), true);
	}
	word = map->summary[level][at / 64] & ~bits_from(at % 64);
	for (at /= 64; !word && at > 0;)
		word = map->summary[level][--at];
	return word ? descend(map, level, at * 64 + bit_highest(word), true) : BLOCK_NONE;
}

/* The first set bit from line to last, both of this level, where words below are none. */
static uint64_t first_of_level(const uint64_t *summary, uint64_t from, uint64_t last)
{
	uint64_t at = from / 64;
	uint64_t word = summary[at] & bits_from(from % 64);

	while (!word && ++at <= last / 64)
		word = summary[at];
	return word ? at * 64 + bit_lowest(word) : BLOCK_NONE;
}

uint64_t map_line_from(const struct blocks *map, uint64_t line, uint64_t last)
{
	uint64_t found = BLOCK_NONE, at = line, end = last;
	int level = 0;

	for (; level < SUMMARY_LEVELS && at <= end; level++) {
		/* Below the top one word is enough: what follows is one bit of the next level. */
		uint64_t stop = level < SUMMARY_LEVELS - 1 && end > (at | 63) ? at | 63 : end;

		found = first_of_level(map->summary[level], at, stop);
		if (found != BLOCK_NONE || stop == end)
			break;
		at = at / 64 + 1;
		end /= 64;
	}
	if (found == BLOCK_NONE)
		return BLOCK_NONE;
	found = descend(map, level, found, false);
	return found <= last ? found : BLOCK_NONE;
}

static void summary_set(struct blocks *map, uint64_t line)
{
	for (int level = 0; level < SUMMARY_LEVELS; level++, line /= 64) {
		uint64_t *word = &map->summary[level][line / 64];

		if (*word & 1ull << (line % 64))
			break;
		*word |= 1ull << (line % 64);
	}
}

static void summary_clear(struct blocks *map, uint64_t line)
{
	for (int level = 0; level < SUMMARY_LEVELS; level++, line /= 64) {
		uint64_t *word = &map->summary[level][line / 64];

		*word &= ~(1ull << (line % 64));
		if (*word)
			break;
	}
}

/* ---- segments ---- */

static int grow_summary(struct blocks *map, uint64_t lines)
{
	for (int level = 0; level < SUMMARY_LEVELS; level++) {
		uint64_t words = lines / 64 + 1, room = map->summary_room[level];
		uint64_t *grown;

		lines = words;
		if (words <= room)
			continue;
		grown = reallocarray(map->summary[level], words, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + room, 0, (words - room) * sizeof(*grown));
		map->summary[level] = grown;
		map->summary_room[level] = words;
	}
	return 0;
}

static int grow_lines(struct blocks *map, uint64_t lines)
{
	uint64_t room = lines + lines / 8 + 64;
	void *grown;

	if (lines <= map->line_room)
		return 0;
	/* First: all lines that there are must have a summary, also when this fails. */
	if (grow_summary(map, room))
		return -ENOMEM;
	if (map->line)
		grown = mremap(map->line, map->line_room * sizeof(struct line),
			       room * sizeof(struct line), MREMAP_MAYMOVE);
	else
		grown = mmap(NULL, room * sizeof(struct line), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (grown == MAP_FAILED)
		return -ENOMEM;
	/* They are met in no order: with small pages most of the time goes into finding pages. */
	huge_pages_ask(grown, room * sizeof(struct line));
	map->line = grown;
	map->line_room = room;
	return 0;
}

static int grow_segments(struct blocks *map)
{
	size_t room = map->segment_room ? map->segment_room * 2 : 16;
	struct segment *segment;
	uint32_t *sorted;

	if (map->segment_count < map->segment_room)
		return 0;
	segment = room > UINT32_MAX ? NULL : reallocarray(map->segment, room, sizeof(*segment));
	if (!segment)
		return -ENOMEM;
	map->segment = segment;
	sorted = reallocarray(map->sorted, room, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	map->sorted = sorted;
	map->segment_room = room;
	return 0;
}

/* How many segments, by address, end at or below address. */
static size_t segments_below(const struct blocks *map, uint64_t address)
{
	return ARRAY_BISECT(map->segment_count, i, map->segment[map->sorted[i]].high <= address);
}

int blocks_add_segment(struct blocks *blocks, uint64_t low, uint64_t high, unsigned int granule)
{
	size_t at = segments_below(blocks, low), count = blocks->segment_count;
	uint64_t base = low & ~(uint64_t)(granule - 1), lines;

	if (low >= high || high > HIGHEST_ADDRESS || (granule != 8 && granule != 16))
		return -EINVAL;
	if (at < count && blocks->segment[blocks->sorted[at]].low < high)
		return -EEXIST;
	lines = (high - base + LINE_GRANULES * granule - 1) / (LINE_GRANULES * granule);
	if (grow_segments(blocks) || grow_lines(blocks, blocks->line_count + lines))
		return -ENOMEM;
	memmove(&blocks->sorted[at + 1], &blocks->sorted[at],
		(count - at) * sizeof(*blocks->sorted));
	blocks->sorted[at] = (uint32_t)count;
	blocks->segment[count] = (struct segment){
		.low = low,
		.high = high,
		.base = base,
		.first = blocks->line_count * LINE_GRANULES,
		.shift = granule == 8 ? 3 : 4,
	};
	blocks->segment_count++;
	blocks->line_count += lines;
	blocks->ranges_stale = true;
	return 0;
}

int blocks_set_aligned(struct blocks *blocks, uint64_t address)
{
	const struct segment *segment = map_segment(blocks, address);

	if (!segment)
		return -ENOENT;
	blocks->segment[segment - blocks->segment].aligned = blocks->aligned = true;
	return 0;
}

const struct ranges *blocks_segments(struct blocks *blocks)
{
	if (!blocks->ranges_stale)
		return &blocks->ranges;
	blocks->ranges.count = 0;
	for (size_t i = 0; i < blocks->segment_count; i++) {
		const struct segment *s = &blocks->segment[blocks->sorted[i]];

		if (ranges_add(&blocks->ranges, s->low, s->high))
			return NULL;
	}
	ranges_normalize(&blocks->ranges);
	blocks->ranges_stale = false;
	return &blocks->ranges;
}

const struct segment *map_segment(const struct blocks *map, uint64_t address)
{
	size_t at = segments_below(map, address);
	const struct segment *segment;

	if (at == map->segment_count)
		return NULL;
	segment = &map->segment[map->sorted[at]];
	return segment->low <= address ? segment : NULL;
}

const struct segment *map_segment_of(const struct blocks *map, uint64_t index)
{
	size_t low = 0, high = map->segment_count - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (map->segment[middle].first > index)
			high = middle - 1;
		else
			low = middle;
	}
	return &map->segment[low];
}

/* ---- blocks ---- */

unsigned int map_tail(const struct segment *segment, uint64_t end)
{
	uint64_t at = end - segment->first;
	unsigned int more;

	if (!segment->tails)
		return segment->tail;
	more = segment->tails[at / 2] >> (at % 2 * 4) & 15;
	return (segment->tail - 1 + more) % 16 + 1;
}

/* 0 or -ENOMEM. bytes: 1 to 16. */
static int set_tail(struct blocks *map, struct segment *segment, uint64_t end, unsigned int bytes)
{
	uint64_t at = end - segment->first;
	unsigned int shift = at % 2 * 4;

	if (!segment->tail)
		segment->tail = bytes;
	if (segment->tail == bytes && !segment->tails)
		return 0;
	if (!segment->tails) {
		segment->tails_bytes = ((segment->high - segment->base) >> segment->shift) / 2 + 1;
		segment->tails = calloc(segment->tails_bytes, 1);
		if (!segment->tails)
			return -ENOMEM;
		map->tails_memory += segment->tails_bytes;
	}
	segment->tails[at / 2] = (uint8_t)((segment->tails[at / 2] & ~(15u << shift)) |
					   ((bytes - segment->tail) & 15u) << shift);
	return 0;
}

uint64_t map_end_beyond(const struct blocks *map, uint64_t start)
{
	uint64_t line = start / LINE_GRANULES;

	do
		line = map_line_from(map, line + 1, map->line_count - 1);
	while (line != BLOCK_NONE && !map->line[line].end);
	/* Every start has an end: NONE is never seen. */
	return line == BLOCK_NONE ? start : line * LINE_GRANULES + bit_lowest(map->line[line].end);
}

uint64_t map_next_start(const struct blocks *map, uint64_t index, uint64_t last)
{
	uint64_t line = index / LINE_GRANULES, end = last / LINE_GRANULES, found;
	uint64_t starts;

	if (index > last)
		return BLOCK_NONE;
	starts = map->line[line].start & bits_from(index % LINE_GRANULES);
	while (!starts) {
		line = line < end ? map_line_from(map, line + 1, end) : BLOCK_NONE;
		if (line == BLOCK_NONE)
			return BLOCK_NONE;
		starts = map->line[line].start;
	}
	found = line * LINE_GRANULES + bit_lowest(starts);
	return found <= last ? found : BLOCK_NONE;
}

/* Every bit goes in and out by these two, for the summary's sake. */
static void set_bits(struct blocks *map, uint64_t start, uint64_t end)
{
	map_line(map, start)->start |= map_bit(start);
	summary_set(map, start / LINE_GRANULES);
	map_line(map, end)->end |= map_bit(end);
	summary_set(map, end / LINE_GRANULES);
}

static void clear_bits(struct blocks *map, uint64_t start, uint64_t end)
{
	struct line *first = map_line(map, start), *last = map_line(map, end);

	first->start &= ~map_bit(start);
	last->end &= ~map_bit(end);
	if (!first->start && !first->end)
		summary_clear(map, start / LINE_GRANULES);
	if (!last->start && !last->end)
		summary_clear(map, end / LINE_GRANULES);
}

/* Puts a block in whose room is free. */
static int place(struct blocks *map, struct segment *segment, uint64_t start, uint64_t bytes)
{
	uint64_t end = start + ((bytes - 1) >> segment->shift);
	unsigned int tail = (unsigned int)(bytes - ((end - start) << segment->shift));
	int error = set_tail(map, segment, end, tail);

	if (error)
		return error;
	set_bits(map, start, end);
	map->count++;
	map->bytes += bytes;
	return 0;
}

static void displace(struct blocks *map, const struct segment *segment, uint64_t start)
{
	map->bytes -= map_block(map, segment, start).bytes;
	map->count--;
	clear_bits(map, start, map_end(map, start));
}

/* Ends the block that reaches over start, if there is one, in the granule below. */
static int cut_before(struct blocks *map, struct segment *segment, uint64_t start)
{
	uint64_t open = map_start(map, start);

	if (open == BLOCK_NONE)
		return 0;
	displace(map, segment, open);
	return place(map, segment, open, (start - open) << segment->shift);
}

static struct segment *segment_to_add(struct blocks *map, uint64_t address)
{
	const struct segment *segment;

	if (map->last < map->segment_count) {
		struct segment *last = &map->segment[map->last];

		if (address >= last->low && address < last->high)
			return last;
	}
	segment = map_segment(map, address);
	if (!segment)
		return NULL;
	map->last = (size_t)(segment - map->segment);
	return &map->segment[map->last];
}

int blocks_add(struct blocks *blocks, uint64_t address, uint64_t bytes)
{
	struct segment *segment = segment_to_add(blocks, address);
	uint64_t start, next;
	int error;

	if (!segment || (address & ((1u << segment->shift) - 1)) || !bytes ||
	    bytes > segment->high - address)
		return -EINVAL;
	start = map_place(segment, address) >> 4;
	if (map_line(blocks, start)->start & map_bit(start))
		return -EEXIST;
	error = cut_before(blocks, segment, start);
	if (error)
		return error;
	next = map_next_start(blocks, start + 1, start + ((bytes - 1) >> segment->shift));
	if (next != BLOCK_NONE)
		bytes = (next - start) << segment->shift;
	return place(blocks, segment, start, bytes);
}

int blocks_remove(struct blocks *blocks, uint64_t address)
{
	const struct segment *segment = map_segment(blocks, address);
	uint64_t start;

	if (!segment || (address & ((1u << segment->shift) - 1)))
		return -ENOENT;
	start = map_place(segment, address) >> 4;
	if (!(map_line(blocks, start)->start & map_bit(start)))
		return -ENOENT;
	displace(blocks, segment, start);
	return 0;
}

int blocks_set_start(struct blocks *blocks, uint64_t address)
{
	const struct segment *segment = map_segment(blocks, address);
	struct block block;

	if (!segment || !segment->aligned || (address & ((1u << segment->shift) - 1)) ||
	    !blocks_find(blocks, address, &block))
		return -ENOENT;
	(void)blocks_remove(blocks, block.address);
	return blocks_add(blocks, address, block.address + block.bytes - address);
}

bool blocks_find(const struct blocks *blocks, uint64_t pointer, struct block *ret)
{
	const struct segment *segment = map_segment(blocks, pointer);
	uint64_t start;
	struct block block;

	if (!segment)
		return false;
	start = map_start(blocks, map_place(segment, pointer) >> 4);
	if (start == BLOCK_NONE)
		return false;
	block = map_block(blocks, segment, start);
	if (pointer - block.address >= block.bytes)
		return false;
	*ret = block;
	return true;
}

static int each_of_segment(const struct blocks *map, const struct segment *segment,
			   int (*each)(void *context, const struct block *block), void *context)
{
	uint64_t last = segment->first + ((segment->high - 1 - segment->base) >> segment->shift);
	int result = 0;

	for (uint64_t at = map_next_start(map, segment->first, last); !result && at != BLOCK_NONE;
	     at = map_next_start(map, at + 1, last)) {
		struct block block = map_block(map, segment, at);

		result = each(context, &block);
	}
	return result;
}

int blocks_each(const struct blocks *blocks, int (*each)(void *context, const struct block *block),
		void *context)
{
	int result = 0;

	for (size_t i = 0; !result && i < blocks->segment_count; i++)
		result =
			each_of_segment(blocks, &blocks->segment[blocks->sorted[i]], each, context);
	return result;
}

uint64_t blocks_count(const struct blocks *blocks)
{
	return blocks->count;
}

uint64_t blocks_bytes(const struct blocks *blocks)
{
	return blocks->bytes;
}

size_t blocks_memory(const struct blocks *blocks)
{
	size_t bytes = sizeof(*blocks) + blocks->line_count * sizeof(struct line) +
		       blocks->segment_room * (sizeof(struct segment) + sizeof(uint32_t)) +
		       blocks->tails_memory;

	for (int level = 0; level < SUMMARY_LEVELS; level++)
		bytes += blocks->summary_room[level] * sizeof(uint64_t);
	return bytes;
}
