/* SPDX-License-Identifier: MIT */
/* residency.h - how much of a stretch is in memory, asked for stretches that mostly ascend. */
#ifndef MEMATTACH_MEMORY_RESIDENCY_H
#define MEMATTACH_MEMORY_RESIDENCY_H

#include "src/base/ranges.h"

struct residency {
	const struct ranges *present;	/* borrowed, normalized; NULL: not known */
	struct range last;		/* within this all is present */
};

/* Bytes of [low, high) that are present; 0 where it is not known. */
uint64_t residency_search(struct residency *residency, uint64_t low, uint64_t high);
static inline uint64_t residency_bytes(struct residency *residency, uint64_t low, uint64_t high)
{
	return low >= residency->last.low && high <= residency->last.high
		       ? high - low
		       : residency_search(residency, low, high);
}

#endif
