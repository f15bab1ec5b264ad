/* SPDX-License-Identifier: MIT */
/*
 * snapshot_point.c - the next point of the timeline: what was estimated since the last one.
 *
 * The values of all points add up to the totals. Their intervals rest on what was drawn within each
 * of them. An allocation may pass its thread's count-down just before the end of an interval and be
 * read after it, so what has passed or was lost is that of two intervals.
 */
#include "src/live/live_evict.h"
#include "src/live/snapshot.h"

static uint64_t minus(uint64_t from, uint64_t what)
{
	return what < from ? from - what : 0;
}

static uint64_t plus(uint64_t to, uint64_t what)
{
	return what < UINT64_MAX - to ? to + what : UINT64_MAX;
}

static void note_smallest(void *context, uint64_t size, double count)
{
	uint64_t *smallest = context;

	(void)count;
	if (*smallest == 0 || size < *smallest)
		*smallest = size;
}

struct doubt snapshot_doubt(const struct snapshot_input *input)
{
	struct doubt ret = input->doubt;

	ret.thinned = (double)live_thinning(input->live).interval;
	(void)sites_histogram(input->sites, note_smallest, &ret.smallest);
	return ret;
}

/* The growth of sum since before; nothing where more was taken back (a free that failed). */
static struct estimate estimate_since(const struct estimate *sum, const struct estimate *before)
{
	if (sum->count + sum->samples < before->count + before->samples ||
	    estimate_level(sum) < estimate_level(before))
		return (struct estimate){ 0 };
	return estimate_without(sum, before);
}

/* The doubt of the time since before. */
static struct doubt doubt_since(const struct doubt *doubt, const struct timeline_doubt *before)
{
	struct doubt ret = *doubt;

	ret.passed = minus(doubt->passed, before->passed);
	ret.hidden = minus(doubt->hidden, before->hidden);
	ret.hidden_bytes = minus(doubt->hidden_bytes, before->hidden_bytes);
	ret.lost_frees = minus(doubt->lost_frees, before->lost_frees);
	return ret;
}

static struct doubt_figures figures_of(const struct doubt *doubt, const struct estimate *sum)
{
	static const struct estimate none;
	static const struct site_peak no_peak;
	const struct doubt_sums sums = { .alloc = sum, .live = &none, .untracked = &none,
					 .peak = &no_peak };

	return doubt_figures(doubt, &sums);
}

/*
 * All that lives now may have been freed where frees were lost, and what was lost or could not be
 * tracked at any time may have been freed in this interval.
 */
static struct figure freed_since(const struct doubt *doubt, const struct doubt *recent,
				 const struct site_totals *totals, const struct estimate *freed)
{
	struct figure ret = figures_of(doubt, freed).alloc_count;

	ret.low = minus(ret.low, doubt->lost_frees);
	ret.high = plus(ret.high, estimate_count(&totals->untracked));
	if (recent->lost_frees)
		ret.high = plus(ret.high, estimate_count(&totals->live));
	return ret;
}

/* Where those that live are thinned, what was freed is known by its totals alone. */
static struct figure freed_between(const struct figure *now, const struct figure *before)
{
	return (struct figure){ minus(now->value, before->value), minus(now->low, before->high),
				minus(now->high, before->low) };
}

static uint64_t settle(uint64_t value, const struct figure *figure, struct timeline_bounds *ret)
{
	value = value > figure->low ? value : figure->low;
	ret->low = figure->low;
	ret->high = figure->high > value ? figure->high : value;
	return value;
}

/* The part of the totals that no point has yet. */
static struct timeline_point beyond(const struct doubt_figures *all,
				    const struct timeline *timeline)
{
	struct timeline_point ret = { .alloc_count = all->alloc_count.value,
				      .free_count = all->free_count.value,
				      .alloc_bytes = all->alloc_bytes.value };

	for (size_t i = 0; i < timeline->count; i++) {
		ret.alloc_count = minus(ret.alloc_count, timeline->point[i].alloc_count);
		ret.free_count = minus(ret.free_count, timeline->point[i].free_count);
		ret.alloc_bytes = minus(ret.alloc_bytes, timeline->point[i].alloc_bytes);
	}
	return ret;
}

static void base_move(struct timeline_base *base, const struct site_totals *totals,
		      const struct estimate *freed, const struct doubt *doubt)
{
	base->alloc = totals->alloc;
	base->freed = *freed;
	base->doubt[0] = base->doubt[1];
	base->doubt[1] = (struct timeline_doubt){ doubt->passed, doubt->hidden,
						  doubt->hidden_bytes, doubt->lost_frees };
}

void snapshot_point(const struct snapshot_input *input, struct timeline *timeline,
		    struct timeline_point *point)
{
	const struct site_totals *totals = sites_totals(input->sites, SITE_MALLOC);
	const struct doubt_sums sums = {
		.alloc = &totals->alloc, .live = &totals->live, .untracked = &totals->untracked,
		.peak_level = totals->peak_level, .peak = &totals->peak,
	};
	struct timeline_base *base = &timeline->base;
	const struct doubt doubt = snapshot_doubt(input);
	const struct doubt recent = doubt_since(&doubt, &base->doubt[0]);
	const struct estimate freed = sites_totals_freed(totals);
	const struct estimate came = estimate_since(&totals->alloc, &base->alloc);
	const struct estimate went = estimate_since(&freed, &base->freed);
	const struct doubt_figures all = doubt_figures(&doubt, &sums);
	const struct doubt_figures new = figures_of(&recent, &came);
	const struct figure gone = doubt.thinned > 0 ?
		freed_between(&all.free_count, &base->free_count) :
		freed_since(&doubt, &recent, totals, &went);
	const struct timeline_point rest = beyond(&all, timeline);

	point->alloc_count = settle(rest.alloc_count, &new.alloc_count, &point->in.alloc_count);
	point->alloc_bytes = settle(rest.alloc_bytes, &new.alloc_bytes, &point->in.alloc_bytes);
	point->free_count = settle(rest.free_count, &gone, &point->in.free_count);
	point->live_bytes = settle(all.live_bytes.value, &all.live_bytes, &point->in.live_bytes);
	point->bounded = true;
	point->lost = recent.hidden > 0 || recent.lost_frees > 0;
	base->free_count = all.free_count;
	base_move(base, totals, &freed, &doubt);
}
