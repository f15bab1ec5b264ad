/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - what each thread allocated at each site, and which thread freed whose blocks.
 *
 * Bounded: PAIRS_MAX pairs of site and thread, PAIRS_MAX_SITE at one site; the threads that come
 * later are one at each site, PAIRS_OTHERS. HANDOVERS_MAX pairs of threads.
 */
#ifndef MEMATTACH_LIVE_PAIRS_H
#define MEMATTACH_LIVE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cleanup.h"
#include "src/live/estimate.h"

#define PAIRS_MAX	65536u
#define PAIRS_MAX_SITE	256u
#define PAIRS_OTHERS	UINT32_MAX
#define HANDOVERS_MAX	16384u

/* Counts in 1 / ESTIMATE_COUNT_ONE, bytes in 1 / ESTIMATE_BYTES_ONE. One cache line. */
struct pair {
	uint32_t site, thread;		/* id; small number, or PAIRS_OTHERS */
	uint64_t alloc_count, alloc_bytes;
	uint64_t free_count, free_bytes;	/* of these, whoever freed them */
	uint64_t lost_count, lost_bytes;	/* of these: whether they live can't be known */
	uint64_t temporary_count;	/* blocks; see live_every_alloc */
};
/* Blocks of owner that freer freed. Levels as above. */
struct handover {
	uint32_t owner, freer;		/* small numbers; both PAIRS_OTHERS: the rest */
	uint64_t count, bytes;
};

struct pairs;
/* 0 or -ENOMEM. */
int pairs_new(struct pairs **ret) _must_check_;
void pairs_free(struct pairs *pairs);
/* The index of (site, thread), made if new. 0 or -ENOMEM. */
int pairs_find(struct pairs *pairs, uint32_t site, uint32_t thread, uint32_t *ret) _must_check_;
/* pre: index came from pairs_find. Valid until the next pairs_find. */
struct pair *pairs_at(const struct pairs *pairs, uint32_t index);
/*
 * The site of each becomes what heir() says of it; those that become the same are one then. An
 * index that was i is remap[i] from now on. pre: remap has room for all.
 */
void pairs_rename_sites(struct pairs *pairs,
			uint32_t (*heir)(const void *context, uint32_t site),
			const void *context, uint32_t *remap);
/* Memory that they take. */
size_t pairs_bytes(const struct pairs *pairs);
/* All: [0, *ret_count). */
const struct pair *pairs_all(const struct pairs *pairs, size_t *ret_count);
/* A block with this term begins to live, ends, is lost sight of. */
static inline void pair_alloc(struct pair *pair, const struct estimate_term *term)
{
	pair->alloc_count += estimate_term_count(term);
	pair->alloc_bytes += estimate_term_bytes(term);
}
static inline void pair_free(struct pair *pair, const struct estimate_term *term)
{
	pair->free_count += estimate_term_count(term);
	pair->free_bytes += estimate_term_bytes(term);
}
static inline void pair_lose(struct pair *pair, const struct estimate_term *term)
{
	pair->lost_count += estimate_term_count(term);
	pair->lost_bytes += estimate_term_bytes(term);
}
/* freer freed a block of owner's. Out of memory: it is among those without place. */
void pairs_hand_over(struct pairs *pairs, uint32_t owner, uint32_t freer,
		     const struct estimate_term *term);
/* All that have a place: [0, *ret_count); the rest is added up in *ret_rest. */
const struct handover *pairs_handovers(const struct pairs *pairs, size_t *ret_count,
				       struct handover *ret_rest);

#endif
