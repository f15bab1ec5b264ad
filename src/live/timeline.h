/* SPDX-License-Identifier: MIT */
/* timeline.h - one point per interval; when there are too many, neighbours are joined. */
#ifndef MEMATTACH_TIMELINE_H
#define MEMATTACH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/live/doubt.h"

#define TIMELINE_MAX 4096u

/* Ends of the 95 % interval of a figure, losses included; the same: it is exact. */
struct timeline_bounds {
	uint64_t low, high;
};
struct timeline_intervals {
	struct timeline_bounds alloc_count, free_count, alloc_bytes, live_bytes;
};
struct timeline_point {
	double time;			/* seconds since the session began: end of the interval */
	uint64_t alloc_count, free_count, alloc_bytes;	/* within the interval */
	uint64_t live_bytes;		/* at its end, malloc family */
	uint64_t rss_bytes, vsz_bytes;	/* at its end, of the process; 0 unknown */
	int64_t trend_bytes;		/* at its end, of a session that only counts, */
	bool trend_known;		/* if it is (snapshot_counts.h) */
	uint64_t sample_interval;	/* bytes, the mean at its end; 0: every allocation */
	struct timeline_intervals in;	/* if bounded */
	bool bounded;
	bool lost;			/* in the interval records were lost */
};
/* What the session had missed at the end of an interval (doubt.h). */
struct timeline_doubt {
	uint64_t passed, hidden, hidden_bytes, lost_frees;
};
/* The books at the end of the last interval; [0] of doubt: of the one before it. */
struct timeline_base {
	struct estimate alloc, freed;
	struct figure free_count;
	struct timeline_doubt doubt[2];
};
struct timeline {
	size_t count;
	uint32_t stride;		/* intervals that make a full point (1, 2, 4, ...) */
	uint32_t filled;		/* intervals in the last point */
	struct timeline_point *point;	/* TIMELINE_MAX of them, allocated at the first */
	struct timeline_base base;	/* snapshot_point */
};

/* A zeroed struct timeline is empty. */
void timeline_done(struct timeline *timeline);
/* Adds the next interval. 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, const struct timeline_point *point) _must_check_;
/*
 * Makes one interval of two neighbours: counts add up, levels are those at the end. What was drawn
 * in either is independent, so distances of ends from values add up as squares; where records were
 * lost they add up as they are.
 */
void timeline_join(struct timeline_point *into, const struct timeline_point *later);

#endif
