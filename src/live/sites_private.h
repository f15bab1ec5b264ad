/* SPDX-License-Identifier: MIT */
/* sites_private.h - what sites.c and site_evict.c share. */
#ifndef MEMATTACH_SITES_PRIVATE_H
#define MEMATTACH_SITES_PRIVATE_H

#include "src/base/hashmap.h"
#include "src/base/id_places.h"
#include "src/live/site_evict.h"
#include "src/live/site_moves.h"
#include "src/live/site_side.h"
#include "src/live/sites.h"

/* Groups of sums: one for each kind, and one of allocators' own mappings. */
#define GROUPS		(SITE_CUSTOM + 2u)
#define GROUP_ALLOCATOR	(SITE_CUSTOM + 1u)
#define SITE_SMALL_SIZES 4096u	/* sizes below have a counter each */
#define SITE_OTHERS	4u	/* one of each kind, and one of allocators' own mappings */

/*
 * Sites lie in chunks, each as large as all before it and one more: they never move while sites
 * are added, so that a pointer to one stays good until sites are evicted.
 */
#define SITE_FIRST_CHUNK 256u	/* sites; a power of two */
#define SITE_CHUNKS	21u	/* room for ID_PLACES_MAX sites */

struct sites {
	struct stacks *stacks;		/* tags: ids of sites of SITE_MALLOC */
	struct site *chunk[SITE_CHUNKS];	/* site_placed() */
	uint32_t count;
	struct id_places places;
	struct hashmap index;		/* stack and kind -> id */
	struct hashmap threads;		/* id and thread, for threads from 64 on */
	struct site_side resizes;	/* struct site_resizes */
	struct site_side moves;		/* struct site_moves_entry */
	struct frame_range *range;
	size_t range_count;
	struct site_totals group[GROUPS];
	struct site_oddities oddities;
	uint64_t small_size[SITE_SMALL_SIZES];	/* numbers in 1 / ESTIMATE_COUNT_ONE */
	struct hashmap large_size;
	struct lifetimes_later *later;	/* what is still to be added to them */
	size_t lifetimes_bytes;		/* of all sites */
	uint64_t changes;		/* of what lives, counted */
	uint64_t ticks, next_renewal;
	uint64_t window_begin, previous_begin;	/* TSC; 0: the session's */
	uint32_t other[SITE_OTHERS];	/* ids of what evicted sites were merged into; 0: none */
	uint32_t other_stack;		/* of these */
	uint64_t evicted_at;		/* TSC of the last event before sites were evicted last */
	struct site_evictions evictions;
};

/* Which chunk place lies in. */
static inline unsigned int site_chunk(uint32_t place)
{
	return (unsigned int)(__builtin_clz(SITE_FIRST_CHUNK) -
			      __builtin_clz(place + SITE_FIRST_CHUNK));
}
/* pre: place < count, or there is room for it (sites_add). */
static inline struct site *site_placed(const struct sites *sites, uint32_t place)
{
	unsigned int chunk = site_chunk(place);

	return &sites->chunk[chunk][place + SITE_FIRST_CHUNK - (SITE_FIRST_CHUNK << chunk)];
}
/* In the index. */
static inline uint64_t site_key(uint32_t stack, enum site_kind kind)
{
	return ((uint64_t)stack << 2) | (uint64_t)kind;
}
/* A new site at the end. NULL: out of memory. Valid until sites are evicted. */
struct site *sites_add(struct sites *sites, uint32_t stack, enum site_kind kind);
/* Memory that its lifetimes take. */
static inline size_t site_lifetimes_bytes(const struct site *site)
{
	return site->lifetimes.count * sizeof(*site->lifetimes.bucket);
}
/* Before what lives of site changes: see sites_at_peak. */
void site_changes(struct sites *sites, struct site *site);
/* What lived of it when its group was at its peak, as levels. */
void site_peak_levels(const struct sites *sites, const struct site *site, uint64_t *ret_level,
		      uint64_t *ret_count);

#endif
