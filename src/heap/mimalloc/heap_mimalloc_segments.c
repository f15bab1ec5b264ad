/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc_segments.c - the segments of a mimalloc, and the pages that they are cut into.
 *
 * A segment begins at a multiple of 32 MiB and holds, in its first slice, its own address
 * mixed with a random number of the process; so every such address in writable memory is looked
 * at, and no list has to be believed (there is none of all segments: those of threads hang on
 * queues of their pages, others are abandoned, or kept for later). The lists that there are
 * know how many segments a thread has: heap_mimalloc_lists.c compares.
 * A segment that has no pages in use keeps its header; none of its memory is anybody's.
 */
#include "src/heap/mimalloc/heap_mimalloc.h"

#include <errno.h>
#include <string.h>

#include "src/heap/heap_bytes.h"

#define SEGMENT_MAX_SLICES (1ull << 31)	/* 128 TiB */
#define HUGE_SIZE	(2u << 30)	/* in a page's 32 bits: all of its slices */
#define START_OFFSET	384u		/* of the first block, where they are small */
#define OFFSET_UP_TO	1024u		/* bytes of a block */

/* struct mi_segment_s */
enum {
	SEGMENT_USED = 208, SEGMENT_COOKIE = 216, SEGMENT_SLICES = 224, SEGMENT_INFO = 232,
	SEGMENT_KIND = 240, SEGMENT_ENTRIES = 248, SEGMENT_THREAD = 256, SEGMENT_TABLE = 264,
};
/* struct mi_page_s, up to where layouts differ */
enum {
	SPAN_COUNT = 0, SPAN_BACK = 4, SPAN_CAPACITY = 10, SPAN_RESERVED = 12, SPAN_FLAGS = 14,
	SPAN_FREE = 16, SPAN_USED = 24, SPAN_SIZE = 28, SPAN_LOCAL = 32, SPAN_KEYS = 40,
};
#define FLAG_ALIGNED	2u

/* Is something mapped everywhere in it, from map on? */
static bool is_mapped(const struct procmaps *maps, const struct procmap *map, uint64_t high)
{
	while (map->end < high && map + 1 < maps->map + maps->count && map[1].start == map->end)
		map++;
	return map->end >= high;
}

static int push_segment(struct mimalloc *mimalloc, const struct mimalloc_segment *segment)
{
	size_t room = mimalloc->segment_room ? mimalloc->segment_room * 2 : 64;
	struct mimalloc_segment *grown;

	if (mimalloc->segment_count == MIMALLOC_MAX_SEGMENTS)
		return mimalloc_fail(mimalloc, -ENOTSUP, "more segments than are looked at");
	if (mimalloc->segment_count == mimalloc->segment_room) {
		grown = reallocarray(mimalloc->segment, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		mimalloc->segment = grown;
		mimalloc->segment_room = room;
	}
	mimalloc->segment[mimalloc->segment_count++] = *segment;
	return 0;
}

/* There may be a segment at low, in map. Sets *next to where the next may be. */
static int try_segment(struct mimalloc *mimalloc, const struct procmap *map, uint64_t low,
		       uint64_t *next)
{
	uint8_t head[SEGMENT_TABLE];
	struct mimalloc_segment segment = { .low = low };
	uint64_t slices;

	if (picture_read(mimalloc->picture, low, head, sizeof(head)) < 0 ||
	    heap_word(head, SEGMENT_COOKIE) != (low ^ mimalloc->cookie))
		return 0;
	slices = heap_word(head, SEGMENT_SLICES);
	if (slices < 2 || slices > SEGMENT_MAX_SLICES ||
	    !is_mapped(&mimalloc->picture->maps, map, low + slices * MIMALLOC_SLICE))
		return mimalloc_fail(mimalloc, -EAGAIN, "a segment has an impossible size");
	segment.high = low + slices * MIMALLOC_SLICE;
	segment.thread = heap_word(head, SEGMENT_THREAD);
	segment.empty = heap_word(head, SEGMENT_USED) == 0;
	/* What follows an empty one may be another's by now. */
	if (segment.empty && slices > MIMALLOC_SLICES)
		segment.high = low + MIMALLOC_SEGMENT;
	*next = (segment.high + MIMALLOC_SEGMENT - 1) & ~(MIMALLOC_SEGMENT - 1);
	return push_segment(mimalloc, &segment);
}

int mimalloc_read_segments(struct mimalloc *mimalloc)
{
	const struct procmaps *maps = &mimalloc->picture->maps;
	uint64_t from = MIMALLOC_SEGMENT;
	int r = 0;

	mimalloc->segment_count = 0;
	for (size_t i = 0; i < maps->count && r == 0; i++) {
		const struct procmap *map = &maps->map[i];
		uint64_t low = (map->start + MIMALLOC_SEGMENT - 1) & ~(MIMALLOC_SEGMENT - 1);

		if (!(map->prot & PROCMAP_R) || !(map->prot & PROCMAP_W) ||
		    (map->prot & PROCMAP_SHARED))
			continue;
		low = low > from ? low : from;
		while (low < map->end && low >= map->start && r == 0) {
			from = low + MIMALLOC_SEGMENT;
			if (picture_skip_hole(mimalloc->picture, low) < from)
				r = try_segment(mimalloc, map, low, &from);
			else
				from = picture_skip_hole(mimalloc->picture, low) &
				       ~(MIMALLOC_SEGMENT - 1);
			low = from;
		}
	}
	return r;
}

int64_t mimalloc_segment_at(const struct mimalloc *mimalloc, uint64_t address)
{
	size_t low = 0, high = mimalloc->segment_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct mimalloc_segment *segment = &mimalloc->segment[middle];

		if (address >= segment->low && address < segment->high)
			return (int64_t)middle;
		if (address < segment->low)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* --- slices ------------------------------------------------------------------- */

/* The segment's own numbers, and its first slices, which are its own. */
struct cut {
	uint64_t entries, info, used;
	bool huge;
};

static bool cut_read(const struct mimalloc *mimalloc, const struct mimalloc_segment *segment,
		     struct cut *cut)
{
	const uint8_t *head = mimalloc->head, *own = head + SEGMENT_TABLE;
	uint64_t slices = (segment->high - segment->low) / MIMALLOC_SLICE;

	*cut = (struct cut){ .entries = heap_word(head, SEGMENT_ENTRIES),
			     .info = heap_word(head, SEGMENT_INFO),
			     .used = heap_word(head, SEGMENT_USED),
			     .huge = heap_half(head, SEGMENT_KIND) == 1 };
	if (heap_half(head, SEGMENT_KIND) > 1 || (!cut->huge && slices != MIMALLOC_SLICES))
		return false;
	/* Secure builds spend the last slice on a guard page. */
	return cut->info == 1 && cut->entries > cut->info && cut->entries <= MIMALLOC_SLICES &&
	       (cut->entries >= MIMALLOC_SLICES - 1 || cut->entries + 1 >= slices) &&
	       cut->entries <= slices &&
	       heap_half(own, SPAN_COUNT) == cut->info && heap_half(own, SPAN_BACK) == 0 &&
	       heap_half(own, SPAN_SIZE) > 0;
}

/* How many blocks have room, and where the first of them is. */
static uint64_t page_room(struct mimalloc_page *page)
{
	uint64_t bytes = page->high - page->low, offset = 0;

	if (page->size == HUGE_SIZE)
		page->size = bytes;
	else if (page->size <= OFFSET_UP_TO)
		offset = START_OFFSET;
	page->start = page->low + offset;
	return page->size ? (bytes - offset) / page->size : 0;
}

static bool page_read(const struct mimalloc *mimalloc, const uint8_t *at,
		      struct mimalloc_page *page)
{
	const struct mimalloc_layout *layout = mimalloc->layout;
	uint32_t reserved = heap_quarter(at, SPAN_RESERVED);
	uint64_t room;

	page->size = heap_half(at, SPAN_SIZE);
	page->capacity = heap_quarter(at, SPAN_CAPACITY);
	page->used = heap_half(at, SPAN_USED);
	page->free = heap_word(at, SPAN_FREE);
	page->local_free = heap_word(at, SPAN_LOCAL);
	page->thread_free = heap_word(at, layout->thread_free) & ~3ull;
	page->heap = heap_word(at, layout->thread_free + 8u);
	page->aligned = at[SPAN_FLAGS] & FLAG_ALIGNED;
	if (layout->coded) {
		page->keys[0] = heap_word(at, SPAN_KEYS);
		page->keys[1] = heap_word(at, SPAN_KEYS + 8);
	}
	room = page_room(page);
	return page->size % 8 == 0 && room > 0 && page->capacity <= reserved &&
	       page->used <= page->capacity && (reserved == room || reserved == 0) &&
	       (page->size > 8 || !layout->padded);
}

/* The slices from index on, as their first tells: where the next begin, 0: it can't be. */
static uint64_t span_end(const struct cut *cut, const uint8_t *at, uint64_t index, uint64_t slices)
{
	uint64_t count = heap_half(at, SPAN_COUNT);

	if (count == 0 || heap_half(at, SPAN_BACK) != 0 || count > slices - index)
		return 0;
	/* Only the one page of a huge segment may reach beyond the table. */
	return index + count <= cut->entries || cut->huge ? index + count : 0;
}

int mimalloc_each_page(struct mimalloc *mimalloc, const struct mimalloc_segment *segment,
		       int (*each)(void *context, const struct mimalloc_page *page),
		       void *context)
{
	size_t stride = mimalloc->layout->page_bytes;
	uint64_t slices = (segment->high - segment->low) / MIMALLOC_SLICE, used = 0;
	struct cut cut;
	int r = 0;

	if (picture_read(mimalloc->picture, segment->low, mimalloc->head,
			 SEGMENT_TABLE + MIMALLOC_SLICES * stride) < 0 ||
	    !cut_read(mimalloc, segment, &cut))
		return mimalloc_fail(mimalloc, -EAGAIN, "a segment's header is not understood");
	for (uint64_t i = cut.info, end; i < cut.entries && r == 0; i = end) {
		uint64_t offset = SEGMENT_TABLE + i * stride;
		const uint8_t *at = mimalloc->head + offset;
		struct mimalloc_page page = { .low = segment->low + i * MIMALLOC_SLICE,
					      .address = segment->low + offset };

		end = span_end(&cut, at, i, slices);
		if (end == 0)
			return mimalloc_fail(mimalloc, -EAGAIN, "a segment's slices do not fit");
		page.high = segment->low + end * MIMALLOC_SLICE;
		if (heap_half(at, SPAN_SIZE) == 0)
			continue;
		if (++used > cut.used || !page_read(mimalloc, at, &page))
			return mimalloc_fail(mimalloc, -EAGAIN, "a page's numbers do not fit");
		r = each(context, &page);
	}
	if (r == 0 && used != cut.used)
		r = mimalloc_fail(mimalloc, -EAGAIN, "a segment has %u pages, and says %u",
				  (unsigned int)used, (unsigned int)cut.used);
	return r;
}
