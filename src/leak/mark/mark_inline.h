/* SPDX-License-Identifier: MIT */
/* mark_inline.h - the small steps of the marking that are made millions of times. */
#ifndef MEMATTACH_LEAK_MARK_INLINE_H
#define MEMATTACH_LEAK_MARK_INLINE_H

#include "src/leak/mark/mark_work.h"

static inline struct chunk *mark_chunk(const struct marker *marker, uint64_t index)
{
	return &marker->chunk[index / CHUNK_GRANULES];
}
static inline bool mark_is_large(const struct blocks *map, uint64_t start)
{
	return map_end(map, start) - start >= SMALL_GRANULES;
}
/* The bits that workers share. Order matters only where a chunk is published: see mark_stream.c. */
static inline uint64_t bits_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
/* true: it was not yet set. */
static inline bool bits_set(uint64_t *word, uint64_t bit)
{
	return !(bits_load(word) & bit) && !(__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST) & bit);
}
/* The text of an sds begins at an odd place: taken for byte 8, which is judged (is_sds). */
static inline uint64_t mark_idiom_place(const struct marker *marker, uint64_t start, uint64_t place)
{
	bool may_be_sds = (place & 9) == 1 && place >> 4 == start &&
			  (marker->input->heuristics & MARK_SDS);

	return may_be_sds ? start << 4 | 8 : place;
}
/* Blocks of a line that no mark of the first two phases is on. */
static inline uint64_t line_lost(const struct line *line)
{
	return line->start & ~bits_load(&line->reach) & ~bits_load(&line->loose);
}

/* Starts from first to last, with their segments. */
struct walk {
	const struct blocks *map;
	const struct segment *segment;
	uint64_t next, last;
};
static inline struct walk walk_chunk(const struct blocks *map, uint64_t chunk)
{
	uint64_t first = chunk * CHUNK_GRANULES, end = map->line_count * LINE_GRANULES;

	return (struct walk){ map, map_segment_of(map, first), first,
			      (end - first > CHUNK_GRANULES ? first + CHUNK_GRANULES : end) - 1 };
}
static inline uint64_t walk_next(struct walk *walk)
{
	uint64_t found = map_next_start(walk->map, walk->next, walk->last);

	if (found == BLOCK_NONE)
		return BLOCK_NONE;
	while (map_address(walk->segment, found) >= walk->segment->high)
		walk->segment++;
	walk->next = found + 1;
	return found;
}

#endif
