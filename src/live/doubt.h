/* SPDX-License-Identifier: MIT */
/*
 * doubt.h - what a session may have missed, and the interval of each figure that follows from it.
 *
 * Chance is one part (estimate.h); records that were lost are the other: a lost allocation may be
 * anybody's and may live. Both end where the process does: it can't hold more than its memory, nor
 * have allocated more than what passed the count-downs of its threads. docs/NUMBERS.md, The
 * interval.
 */
#ifndef MEMATTACH_LIVE_DOUBT_H
#define MEMATTACH_LIVE_DOUBT_H

#include <stdbool.h>

#include "src/live/sites.h"

/* All 0: nothing is in doubt. */
struct doubt {
	struct estimate_unseen unseen;	/* bytes that no sample stands for */
	double thinned;		/* its unit of those that live, if they are thinned; else 0 */
	uint64_t passed;	/* bytes that were asked for while blocks were drawn, at the most */
	uint64_t smallest;	/* size of the smallest block that was seen; 0 as 1 */
	uint64_t hidden, hidden_bytes;	/* what lost records of allocations may stand for */
	uint64_t lost_frees;	/* of blocks that are booked as live, perhaps */
	bool open;		/* there was a time of which nothing is known: live is any */
	uint64_t held, held_peak;	/* bytes that all blocks lie in, now and ever; 0: unknown */
};

/* low <= value <= high; all three the same: it is exact. */
struct figure {
	uint64_t value, low, high;
};

/* The sums of a site or of a group of sites (sites.h). */
struct doubt_sums {
	const struct estimate *alloc, *live, *untracked;
	uint64_t peak_level;		/* in 1 / ESTIMATE_BYTES_ONE; */
	const struct site_peak *peak;	/* of that level, or it was seen whole */
};
struct doubt_figures {
	struct figure alloc_count, alloc_bytes, free_count, free_bytes, live_count, live_bytes;
	struct figure peak_bytes;
};

/* Bytes of live blocks, which may be thinned, that no sample stands for. */
struct estimate_unseen doubt_live_unseen(const struct doubt *doubt);
struct doubt_figures doubt_figures(const struct doubt *doubt, const struct doubt_sums *sums);
/* Of a number of allocations that was counted while all were recorded: losses change it. */
struct figure doubt_counted(const struct doubt *doubt, uint64_t count);

#endif
