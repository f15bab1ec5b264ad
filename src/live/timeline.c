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
#include <math.h>

void timeline_done(struct timeline *timeline)
{
	free(timeline->point);
	*timeline = (struct timeline){ 0 };
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return b < UINT64_MAX - a ? a + b : UINT64_MAX;
}

static double distance(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) : 0;
}

static uint64_t below(uint64_t value, double distance)
{
	return distance < (double)value ? value - (uint64_t)distance : 0;
}

/* A figure of an interval. */
struct part {
	uint64_t value;
	struct timeline_bounds in;
};

static struct part part_join(const struct part *a, const struct part *b, bool lost)
{
	uint64_t value = plus(a->value, b->value);
	double down = hypot(distance(a->in.low, a->value), distance(b->in.low, b->value));
	double up = hypot(distance(a->value, a->in.high), distance(b->value, b->in.high));

	if (lost)
		return (struct part){ value, { plus(a->in.low, b->in.low),
					       plus(a->in.high, b->in.high) } };
	return (struct part){ value, { below(value, ceil(down)),
				       up < 1e19 ? plus(value, (uint64_t)ceil(up)) : UINT64_MAX } };
}

static void figure_join(uint64_t *value, struct timeline_bounds *in, const struct part *earlier,
			bool lost)
{
	const struct part sum = part_join(earlier, &(struct part){ *value, *in }, lost);

	*value = sum.value;
	*in = sum.in;
}

void timeline_join(struct timeline_point *into, const struct timeline_point *later)
{
	const struct timeline_point earlier = *into;
	const struct part allocs = { earlier.alloc_count, earlier.in.alloc_count };
	const struct part frees = { earlier.free_count, earlier.in.free_count };
	const struct part bytes = { earlier.alloc_bytes, earlier.in.alloc_bytes };
	bool lost = earlier.lost || later->lost;

	*into = *later;
	figure_join(&into->alloc_count, &into->in.alloc_count, &allocs, lost);
	figure_join(&into->free_count, &into->in.free_count, &frees, lost);
	figure_join(&into->alloc_bytes, &into->in.alloc_bytes, &bytes, lost);
	into->lost = lost;
	into->bounded = earlier.bounded && later->bounded;
}

static void timeline_halve(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count / 2; i++) {
		timeline->point[i] = timeline->point[2 * i];
		timeline_join(&timeline->point[i], &timeline->point[2 * i + 1]);
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
		timeline_join(&timeline->point[timeline->count - 1], point);
		timeline->filled++;
		return 0;
	}
	if (timeline->count == TIMELINE_MAX)
		timeline_halve(timeline);
	timeline->point[timeline->count++] = *point;
	timeline->filled = 1;
	return 0;
}
