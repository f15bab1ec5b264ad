/* SPDX-License-Identifier: MIT */
/* timeline.h - one point per interval; when there are too many, neighbours are joined. */
#ifndef MEMATTACH_TIMELINE_H
#define MEMATTACH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define TIMELINE_MAX 4096u

struct timeline_point {
	double time;			/* seconds since the session began: end of the interval */
	uint64_t alloc_count, free_count, alloc_bytes;	/* within the interval */
	uint64_t live_bytes;		/* at its end, malloc family */
	uint64_t rss_bytes, vsz_bytes;	/* at its end, of the process; 0 unknown */
	int64_t trend_bytes;		/* at its end, of a session that only counts, */
	bool trend_known;		/* if it is (snapshot_counts.h) */
	uint64_t sample_interval;	/* bytes, the mean at its end; 0: every allocation */
};
struct timeline {
	size_t count;
	uint32_t stride;		/* intervals that make a full point (1, 2, 4, ...) */
	uint32_t filled;		/* intervals in the last point */
	struct timeline_point *point;	/* TIMELINE_MAX of them, allocated at the first */
};

/* A zeroed struct timeline is empty. */
void timeline_done(struct timeline *timeline);
/* Adds the next interval. 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, const struct timeline_point *point) _must_check_;

#endif
