/* SPDX-License-Identifier: MIT */
/* snapshot_counts.h - what a session that only counts knows (docs/COUNTS.md). */
#ifndef MEMATTACH_SNAPSHOT_COUNTS_H
#define MEMATTACH_SNAPSHOT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/abi/counts_abi.h"

/*
 * Usable bytes of what was allocated and freed since the attach; unsized: of so many blocks they
 * are not known. Frees are of all blocks, also of those from before the attach.
 */
struct snapshot_counts {
	uint32_t kind;		/* enum counts_kind; COUNTS_NONE: not such a session */
	uint64_t alloc_usable, alloc_unsized, free_usable, free_unsized;
	/* Allocations that are in the totals, but ... */
	struct counts_rest by_caller;	/* whose site is their caller alone */
	struct counts_rest paths_left;	/* for whose sites there was no room */
	struct counts_rest sizes_left;	/* for whose sizes in the histogram */
	uint64_t shared_count;	/* by threads without counters of their own */
};

/* Of one site, of requested sizes. */
struct snapshot_step {
	uint32_t site;		/* id */
	uint64_t low, high;	/* high inclusive */
	uint64_t count, bytes;
};

/* By how much usable memory in blocks grew since the attach. False: not known. */
static inline bool snapshot_counts_trend(const struct snapshot_counts *counts, int64_t *ret_bytes)
{
	if (counts->kind == COUNTS_NONE || counts->alloc_unsized || counts->free_unsized)
		return false;
	*ret_bytes = (int64_t)(counts->alloc_usable - counts->free_usable);
	return true;
}

#endif
