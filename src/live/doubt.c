/* SPDX-License-Identifier: MIT */
/*
 * doubt.c - see doubt.h.
 *
 * The interval of what was freed follows from its own samples, not from those of what was allocated
 * and of what lives, which are the same blocks. Where blocks that live were thinned it does
 * follow from these: then they are drawn twice.
 *
 * Of lost frees nobody knows the blocks. They are taken to be as large as those that live, twice as
 * many: so that chance may have chosen the larger ones.
 */
#include "src/live/doubt.h"

#include <math.h>

#define PEAK_TAIL	0.001	/* a peak is the highest of many estimates: chance has chosen it */

static uint64_t whole(double value)
{
	return value <= 0 ? 0 : value < 18e18 ? (uint64_t)llround(value) : UINT64_MAX / 2;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return b < UINT64_MAX - a ? a + b : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* value: as it was rounded before. */
static struct figure figure_of(const struct estimate_interval *interval, uint64_t value)
{
	return (struct figure){ value, least(whole(interval->low), value),
				most(whole(interval->high), value) };
}

/*
 * It is at the most `end`. An interval that lies beyond that as a whole was chance; what was seen
 * is all that is known then.
 */
static void cap(struct figure *figure, uint64_t end, uint64_t seen)
{
	end = most(end, seen);
	if (figure->low > end)
		figure->low = seen;
	figure->high = least(figure->high, end);
	figure->value = least(figure->value, figure->high);
	figure->low = least(figure->low, figure->value);
}

static struct estimate_unseen unseen_blocks(const struct doubt *doubt)
{
	double smallest = (double)most(doubt->smallest, 1);

	return (struct estimate_unseen){ doubt->unseen.unit / smallest,
					 doubt->unseen.beyond / smallest };
}

static bool is_sampled(const struct doubt *doubt)
{
	return doubt->unseen.unit > 0 || doubt->unseen.beyond > 0;
}

static struct figure count_of(const struct doubt *doubt, const struct estimate *sum)
{
	struct estimate_interval interval = estimate_count_interval(sum, unseen_blocks(doubt));

	return figure_of(&interval, estimate_count(sum));
}

static struct figure bytes_of(const struct doubt *doubt, const struct estimate *sum)
{
	struct estimate_interval interval = estimate_bytes_interval(sum, doubt->unseen);

	return figure_of(&interval, estimate_bytes(sum));
}

static uint64_t seen_count(const struct estimate *sum)
{
	return sum->count + sum->samples;
}

static uint64_t seen_bytes(const struct estimate *sum)
{
	return sum->bytes + sum->sampled_bytes;
}

/* What was certain is no more than all that passed while it was not counted down. */
static void set_allocated(const struct doubt *doubt, const struct estimate *alloc,
			  struct doubt_figures *to)
{
	uint64_t passed = doubt->passed / most(doubt->smallest, 1);

	to->alloc_count = count_of(doubt, alloc);
	to->alloc_bytes = bytes_of(doubt, alloc);
	if (is_sampled(doubt)) {
		cap(&to->alloc_count, plus(alloc->count, passed), seen_count(alloc));
		cap(&to->alloc_bytes, plus(alloc->bytes, doubt->passed), seen_bytes(alloc));
	}
	to->alloc_count.high = plus(to->alloc_count.high, doubt->hidden);
	to->alloc_bytes.high = plus(to->alloc_bytes.high, doubt->hidden_bytes);
}

/* It is not less than its part, whose interval may rest on other samples. */
static void hold(struct figure *all, const struct figure *part)
{
	all->low = most(all->low, part->low);
	all->value = most(all->value, part->value);
	all->high = most(all->high, part->high);
}

/* Some of those that live were freed, perhaps. */
static void lower(const struct doubt *doubt, uint64_t blocks, struct figure *figure)
{
	double part = blocks ? 2.0 * (double)doubt->lost_frees / (double)blocks : 0;

	figure->low = part < 1 ? whole((double)figure->low * (1 - part)) : 0;
}

struct estimate_unseen doubt_live_unseen(const struct doubt *doubt)
{
	return (struct estimate_unseen){ fmax(doubt->unseen.unit, doubt->thinned),
					 doubt->unseen.beyond };
}

static void set_live(const struct doubt *doubt, const struct doubt_sums *sums,
		     struct doubt_figures *to)
{
	uint64_t blocks = seen_count(sums->live), seen = seen_bytes(sums->live);
	struct doubt drawn = *doubt;

	drawn.unseen = doubt_live_unseen(doubt);
	to->live_count = count_of(&drawn, sums->live);
	to->live_bytes = bytes_of(&drawn, sums->live);
	to->live_count.high = plus(plus(to->live_count.high, doubt->hidden),
				   estimate_count(sums->untracked));
	to->live_bytes.high = plus(plus(to->live_bytes.high, doubt->hidden_bytes),
				   estimate_bytes(sums->untracked));
	if (doubt->open && doubt->held)
		to->live_bytes.high = most(to->live_bytes.high, doubt->held);
	if (doubt->held)
		cap(&to->live_bytes, doubt->held, seen);
	if (!doubt->open)
		cap(&to->live_bytes, to->alloc_bytes.high, seen);
	cap(&to->live_count, to->alloc_count.high, blocks);
	if (doubt->lost_frees) {
		lower(doubt, blocks, &to->live_count);
		lower(doubt, blocks, &to->live_bytes);
	}
}

static void set_peak(const struct doubt *doubt, const struct doubt_sums *sums,
		     struct doubt_figures *to)
{
	uint64_t value = estimate_level_bytes(sums->peak_level);
	struct site_peak peak = { .seen = value };
	struct estimate_interval interval;

	if (sums->peak->level == sums->peak_level)
		peak = *sums->peak;
	interval = estimate_interval((double)peak.seen, (double)value, peak.variance,
				     doubt_live_unseen(doubt), PEAK_TAIL);
	to->peak_bytes = figure_of(&interval, value);
	to->peak_bytes.high = plus(to->peak_bytes.high, doubt->hidden_bytes);
	if (!doubt->open)
		cap(&to->peak_bytes, to->alloc_bytes.high, peak.seen);
	if (doubt->held_peak)
		cap(&to->peak_bytes, doubt->held_peak, peak.seen);
	if (doubt->lost_frees)
		lower(doubt, seen_count(sums->live), &to->peak_bytes);
	hold(&to->peak_bytes, &to->live_bytes);
}

/* What is left of whole without its parts, where these are estimated by other samples. */
static struct figure without(const struct figure *all, const struct figure *part, uint64_t value)
{
	double below = hypot((double)(all->value - all->low), (double)(part->high - part->value));
	double above = hypot((double)(all->high - all->value), (double)(part->value - part->low));
	struct estimate_interval interval = { .low = (double)value - below,
					      .high = (double)value + above };

	return figure_of(&interval, value);
}

static void set_freed(const struct doubt *doubt, const struct doubt_sums *sums,
		      struct doubt_figures *to)
{
	struct estimate seen = estimate_without(sums->alloc, sums->untracked);
	struct estimate freed = estimate_without(&seen, sums->live);

	to->free_count = count_of(doubt, &freed);
	to->free_bytes = bytes_of(doubt, &freed);
	if (doubt->thinned > 0) {
		to->free_count = without(&to->alloc_count, &to->live_count, to->free_count.value);
		to->free_bytes = without(&to->alloc_bytes, &to->live_bytes, to->free_bytes.value);
	}
	to->free_count.high = plus(to->free_count.high, doubt->hidden);
	to->free_bytes.high = plus(to->free_bytes.high, doubt->hidden_bytes);
	if (doubt->lost_frees) {
		to->free_count.high = plus(to->free_count.high, estimate_count(sums->live));
		to->free_bytes.high = plus(to->free_bytes.high, estimate_bytes(sums->live));
	}
	to->free_count.high = plus(to->free_count.high, estimate_count(sums->untracked));
	to->free_bytes.high = plus(to->free_bytes.high, estimate_bytes(sums->untracked));
	cap(&to->free_count, to->alloc_count.high, doubt->thinned > 0 ? 0 : seen_count(&freed));
	cap(&to->free_bytes, to->alloc_bytes.high, doubt->thinned > 0 ? 0 : seen_bytes(&freed));
}

struct doubt_figures doubt_figures(const struct doubt *doubt, const struct doubt_sums *sums)
{
	struct doubt_figures ret;

	set_allocated(doubt, sums->alloc, &ret);
	set_live(doubt, sums, &ret);
	set_peak(doubt, sums, &ret);
	set_freed(doubt, sums, &ret);
	hold(&ret.alloc_count, &ret.free_count);
	hold(&ret.alloc_bytes, &ret.free_bytes);
	return ret;
}

struct figure doubt_counted(const struct doubt *doubt, uint64_t count)
{
	return (struct figure){ count, count - least(count, doubt->hidden),
				plus(count, doubt->hidden) };
}
