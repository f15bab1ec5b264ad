/* SPDX-License-Identifier: MIT */
/* snapshot_rates.c - see snapshot_rates.h. */
#include "src/live/snapshot_rates.h"

#include <math.h>

/* A rate that is not bounded is its own interval. */
static struct snapshot_rate rate_of(uint64_t value, const struct timeline_bounds *bounds,
				    bool bounded, double seconds)
{
	struct snapshot_rate ret = { (double)value / seconds, (double)value / seconds,
				     (double)value / seconds };

	if (!bounded)
		return ret;
	ret.low = (double)bounds->low / seconds;
	ret.high = (double)bounds->high / seconds;
	return ret;
}

static struct snapshot_rates rates_of(const struct timeline_point *point, double seconds)
{
	return (struct snapshot_rates){
		.allocs = rate_of(point->alloc_count, &point->in.alloc_count, point->bounded,
				  seconds),
		.frees = rate_of(point->free_count, &point->in.free_count, point->bounded, seconds),
		.bytes = rate_of(point->alloc_bytes, &point->in.alloc_bytes, point->bounded,
				 seconds),
	};
}

static struct timeline_bounds bounds_of(const struct snapshot_bounds *from)
{
	return (struct timeline_bounds){ from->low, from->high };
}

/* All of the session as one interval. */
static struct timeline_point whole(const struct snapshot *snapshot)
{
	const struct snapshot_totals *totals = &snapshot->totals;

	return (struct timeline_point){
		.alloc_count = totals->alloc_count, .free_count = totals->free_count,
		.alloc_bytes = totals->alloc_bytes, .bounded = snapshot->intervals,
		.in = { .alloc_count = bounds_of(&totals->in.alloc_count),
			.free_count = bounds_of(&totals->in.free_count),
			.alloc_bytes = bounds_of(&totals->in.alloc_bytes) },
	};
}

static bool is_time(double seconds)
{
	return seconds > 0 && isfinite(seconds);
}

struct snapshot_rates snapshot_rates(const struct snapshot *snapshot)
{
	size_t count = snapshot->timeline_count;
	const struct timeline_point all = whole(snapshot);
	const struct timeline_point *point = count ? &snapshot->timeline[count - 1] : &all;
	double begin = count > 1 ? point[-1].time : 0;
	double seconds = count ? point->time - begin : snapshot->session.duration;

	return is_time(seconds) ? rates_of(point, seconds) : (struct snapshot_rates){ 0 };
}

double snapshot_rate_on_average(const struct snapshot *snapshot)
{
	double seconds = snapshot->session.duration;

	return is_time(seconds) ? (double)snapshot->totals.alloc_count / seconds : 0;
}
