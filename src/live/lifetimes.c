/* SPDX-License-Identifier: MIT */
/*
 * lifetimes.c - a histogram over the logarithm of ticks.
 *
 * Step 0 to 7 hold that many ticks; from 8 on each doubling has 8 steps, found
 * by the position of the highest bit and the three bits below it: no logarithm
 * per block. Only the steps between the shortest and the longest lifetime seen
 * are stored, since most sites use a handful of all. A t-digest was
 * rejected: more code, more time per block, and no bound on its error.
 */
#include "src/live/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#define STEP_BITS	3u
#define STEPS		(1u << STEP_BITS)
#define CHUNK		8u	/* steps are added by chunks, so that growing is rare */

static unsigned int step_of(uint64_t ticks)
{
	unsigned int top;

	if (ticks < STEPS)
		return (unsigned int)ticks;
	top = 63u - (unsigned int)__builtin_clzll(ticks);
	return (top - STEP_BITS + 1u) * STEPS +
	       ((unsigned int)(ticks >> (top - STEP_BITS)) & (STEPS - 1u));
}

double lifetimes_step_middle(unsigned int step)
{
	unsigned int shift;

	if (step < STEPS)
		return (double)step;
	shift = step / STEPS - 1u;
	return ((double)(STEPS + step % STEPS) + 0.5) * (double)(1ull << shift);
}

void lifetimes_done(struct lifetimes *lifetimes)
{
	free(lifetimes->bucket);
	*lifetimes = (struct lifetimes){ 0 };
}

/* Makes room for step; false: out of memory. */
static int lifetimes_reach(struct lifetimes *lifetimes, unsigned int step)
{
	unsigned int low = step - step % CHUNK, high = low + CHUNK;
	unsigned int old_low = lifetimes->first, old_high = old_low + lifetimes->count;
	double *bucket;

	if (lifetimes->count && low >= old_low && high <= old_high)
		return 1;
	if (lifetimes->count) {
		low = low < old_low ? low : old_low;
		high = high > old_high ? high : old_high;
	}
	bucket = calloc(high - low, sizeof(*bucket));
	if (!bucket)
		return 0;
	if (lifetimes->count)
		memcpy(bucket + (old_low - low), lifetimes->bucket,
		       lifetimes->count * sizeof(*bucket));
	free(lifetimes->bucket);
	lifetimes->bucket = bucket;
	lifetimes->first = (uint16_t)low;
	lifetimes->count = (uint16_t)(high - low);
	return 1;
}

static void note_block(struct lifetimes *lifetimes, uint64_t ticks, double weight)
{
	if (ticks > lifetimes->max)
		lifetimes->max = ticks;
	lifetimes->total += weight;
}

void lifetimes_add(struct lifetimes *lifetimes, uint64_t ticks, double weight)
{
	unsigned int step = step_of(ticks);

	note_block(lifetimes, ticks, weight);
	if (step - lifetimes->first < lifetimes->count || lifetimes_reach(lifetimes, step))
		lifetimes->bucket[step - lifetimes->first] += weight;
}

void lifetimes_add_later(struct lifetimes *lifetimes, uint64_t ticks, double weight,
			 struct lifetimes_later *later)
{
	unsigned int step = step_of(ticks), place = later->count % LIFETIMES_LATER;
	double *at;

	note_block(lifetimes, ticks, weight);
	if (step - lifetimes->first >= lifetimes->count) {
		lifetimes_settle(later);	/* what is to be added there may move now */
		if (!lifetimes_reach(lifetimes, step))
			return;
	}
	at = &lifetimes->bucket[step - lifetimes->first];
	__builtin_prefetch(at, 1);
	if (later->addition[place].step)
		*later->addition[place].step += later->addition[place].weight;
	later->addition[place].step = at;
	later->addition[place].weight = weight;
	later->count++;
}

void lifetimes_settle(struct lifetimes_later *later)
{
	for (unsigned int i = 0; i < LIFETIMES_LATER; i++) {
		if (later->addition[i].step)
			*later->addition[i].step += later->addition[i].weight;
		later->addition[i].step = NULL;
	}
}

void lifetimes_add_step(struct lifetimes *lifetimes, unsigned int step, double weight)
{
	if (step >= LIFETIMES_STEPS)
		return;
	lifetimes->total += weight;
	if (lifetimes_reach(lifetimes, step))
		lifetimes->bucket[step - lifetimes->first] += weight;
}

/* Doubles may be anything; a tick count beyond 2^63 is as good as that. */
static uint64_t whole_ticks(double ticks)
{
	return ticks < 0x1p63 ? (uint64_t)ticks : 1ull << 63;
}

void lifetimes_merge(struct lifetimes *lifetimes, const struct lifetimes *from, double scale)
{
	uint64_t max = whole_ticks((double)from->max * scale);

	for (unsigned int i = 0; i < from->count; i++) {
		double middle = lifetimes_step_middle(from->first + i) * scale;

		if (from->bucket[i] != 0)
			lifetimes_add_step(lifetimes, step_of(whole_ticks(middle)),
					   from->bucket[i]);
	}
	if (max > lifetimes->max)
		lifetimes->max = max;
}

double lifetimes_quantile(const struct lifetimes *lifetimes, double fraction)
{
	double below = 0, wanted = fraction * lifetimes->total;
	double max = (double)lifetimes->max;

	for (unsigned int i = 0; i < lifetimes->count; i++) {
		below += lifetimes->bucket[i];
		if (below > 0 && below >= wanted) {
			double middle = lifetimes_step_middle(lifetimes->first + i);

			return middle < max ? middle : max;
		}
	}
	return max;
}
