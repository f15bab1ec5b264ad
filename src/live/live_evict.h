/* SPDX-License-Identifier: MIT */
/* live_evict.h - the books in less memory: fewer sites, fewer blocks (docs/MEMORY.md). */
#ifndef MEMATTACH_LIVE_EVICT_H
#define MEMATTACH_LIVE_EVICT_H

#include "src/live/live.h"
#include "src/live/site_evict.h"

/* Memory that the live set takes, of which that of pairs is for sites. */
struct live_memory {
	size_t blocks;		/* blocks, addresses, what was freed, threads, mappings */
	size_t pairs;
	/* What more it takes for a moment if it grows within so many events; 0: it does not. */
	size_t growth;
};
void live_memory(const struct live *live, uint32_t events, struct live_memory *ret);
/* Bounds what has a number of its own: threads, blocks that were freed. Before the first event. */
void live_set_memory(struct live *live, uint64_t bytes);

/*
 * sites_evict_begin, and all that the live set knows by site goes over to the heirs,
 * sites_evict_end. choice: but for .keep. 0 and how many went, or -ENOMEM: nothing changed.
 */
int live_evict_sites(struct live *live, struct site_choice choice, uint32_t *ret_count)
	_must_check_;
/* stacks_keep for all stacks of the books; of what was freed, for callers of free. */
void live_keep_stacks(const struct live *live, struct stacks *stacks);
/* What was freed forgets stacks that were dropped. After stacks_sweep. */
void live_forget_stacks(struct live *live, const struct stacks *stacks);

/*
 * Keeps about half of the blocks, drawn with a chance that grows with their size, as a sample of
 * all; from now on those that come are drawn likewise. What was allocated stays known to
 * the byte, what lives becomes an estimate (docs/NUMBERS.md).
 */
void live_thin(struct live *live);
struct live_thinning {
	uint64_t times, blocks, bytes;	/* blocks that were not kept: they are in the estimate */
	uint64_t interval;		/* mean bytes from one kept to the next; 0: all are */
};
struct live_thinning live_thinning(const struct live *live);

#endif
