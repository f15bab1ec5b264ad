/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - a history of bounded size.
 *
 * When TIMELINE_MAX points are there, pairs are joined and each new point
 * stands for twice as many intervals: the memory of a session that runs for a
 * year is that of an hour. A ring that forgets the beginning was rejected: the
 * beginning is what growth is compared with.
 */
#include "src/live/timeline.h"

#include <errno.h>

void timeline_done(struct timeline *timeline)
{
	free(timeline->point);
	*timeline = (struct timeline){ 0 };
}

/* Counts add up, levels are those at the end. */
static void point_join(struct timeline_point *into, const struct timeline_point *later)
{
	uint64_t allocs = into->alloc_count, frees = into->free_count, bytes = into->alloc_bytes;

	*into = *later;
	into->alloc_count += allocs;
	into->free_count += frees;
	into->alloc_bytes += bytes;
}

static void timeline_halve(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count / 2; i++) {
		timeline->point[i] = timeline->point[2 * i];
		point_join(&timeline->point[i], &timeline->point[2 * i + 1]);
	}
	timeline->count /= 2;
	timeline->stride *= 2;
}

int timeline_add(struct timeline *timeline, const struct timeline_point *point)
{
	if (!timeline->point) {
		timeline->point = calloc(TIMELINE_MAX, sizeof(*timeline->point));
		if (!timeline->point)
			return -ENOMEM;
		timeline->stride = timeline->filled = 1;
	}
	if (timeline->count > 0 && timeline->filled < timeline->stride) {
		point_join(&timeline->point[timeline->count - 1], point);
		timeline->filled++;
		return 0;
	}
	if (timeline->count == TIMELINE_MAX)
		timeline_halve(timeline);
	timeline->point[timeline->count++] = *point;
	timeline->filled = 1;
	return 0;
}
