/* SPDX-License-Identifier: MIT */
/*
 * survival.c - see survival.h.
 *
 * Measured on simulated sites of 11 kinds watched for 6 hours (tests/unit/test_leak_survival.c
 * is a short form): this rule flags 1 of 7 healthy kinds (a cache that holds for 12 hours)
 * and finds 9 of 10 leaks; "older than the longest freed lifetime" flags 3 of 7, "older than a
 * minute" 6 of 7, a growing number of blocks 1 to 5 of 7 as time goes on.
 *
 * An earlier session lengthens the time that was watched, not the age that a block of this one
 * can have: each session's blocks are censored at its own end. A window that ran on through
 * the gap between them was rejected: what was freed in there was not seen.
 *
 * The curve treats a step of the histograms as a life table does: what leaves or enters in it
 * counts for half. Rejected: exact event times (memory per block), and a test on the slope
 * of the curve's tail (deaths are too few there to tell a cache from a leak).
 */
#include "src/leak/candidates/survival.h"

#define STEPS	8u	/* per doubling, as lifetimes.h says */

struct survival_rule survival_default_rule(double window_seconds)
{
	return (struct survival_rule){
		.min_blocks = 5,
		.ratio = 3,
		.window_share = 0.8,
		.quarter_share = 0.1,
		.floor = window_seconds < 600 ? window_seconds / 10 : 60,
		.floor_unfreed = 600,
	};
}

static double plateau_seconds(const struct survival *survival)
{
	const struct survival_rule *rule = &survival->window->rule;
	double longest = rule->ratio * (double)survival->deaths->max / survival->window->hz;

	if (!(survival->deaths->total > 0))
		return rule->floor_unfreed;
	return longest > rule->floor ? longest : rule->floor;
}

void survival_init(struct survival *survival, const struct survival_window *window,
		   const struct lifetimes *deaths)
{
	double ticks;

	*survival = (struct survival){ .window = window, .deaths = deaths };
	ticks = plateau_seconds(survival) * window->hz;
	survival->plateau = ticks < 0x1p63 ? (uint64_t)ticks : 1ull << 63;
}

void survival_done(struct survival *survival)
{
	lifetimes_done(&survival->ages);
	lifetimes_done(&survival->late);
}

static uint64_t older_than_plateau(const struct survival *survival, uint64_t watched)
{
	return watched > survival->plateau ? watched - survival->plateau : 0;
}

static uint64_t watched_now(const struct survival *survival)
{
	return survival->window->now - survival->window->begin;
}

/* offset: of its birth in the time in which those were born that can be old: past, then now. */
static void add_old(struct survival *survival, uint64_t offset, uint64_t count, double weight)
{
	double span = (double)older_than_plateau(survival, survival->window->past) +
		      (double)older_than_plateau(survival, watched_now(survival));
	double quarter = 4 * (double)offset / span;

	survival->old_count += count;
	survival->old_weight += weight * (double)count;
	survival->quarter[quarter < 3 ? (unsigned int)quarter : 3] += count;
}

void survival_add_live_many(struct survival *survival, uint64_t born, uint64_t count,
			    double weight)
{
	const struct survival_window *window = survival->window;

	if (born < window->begin || born > window->now)
		return;
	lifetimes_add(&survival->ages, window->now - born, weight * (double)count);
	if (window->now - born > survival->plateau)
		add_old(survival, older_than_plateau(survival, window->past) + born -
					  window->begin, count, weight);
}

void survival_add_live(struct survival *survival, uint64_t born, double weight)
{
	survival_add_live_many(survival, born, 1, weight);
}

void survival_add_past(struct survival *survival, uint64_t born, uint64_t count, double weight)
{
	const struct survival_window *window = survival->window;

	if (born > window->past)
		return;
	lifetimes_add(&survival->ages, window->past - born, weight * (double)count);
	if (window->past - born > survival->plateau)
		add_old(survival, born, count, weight);
}

void survival_add_late(struct survival *survival, uint64_t seen, uint64_t age, bool ended,
		       double weight)
{
	lifetimes_add(&survival->late, seen, weight);
	if (!ended)
		lifetimes_add(&survival->ages, age, weight);
}

/* --- verdict ------------------------------------------------------------------ */

static bool is_early(const struct survival *survival)
{
	const struct survival_window *window = survival->window;
	uint64_t now = watched_now(survival), longest = now > window->past ? now : window->past;

	return (double)survival->plateau > window->rule.window_share * (double)longest;
}

double survival_needs(const struct survival *survival)
{
	const struct survival_window *window = survival->window;

	return (double)survival->plateau / window->hz / window->rule.window_share;
}

static bool is_spread(const struct survival *survival)
{
	double least = survival->window->rule.quarter_share * (double)survival->old_count;

	for (unsigned int i = 0; i < 4; i++) {
		if (survival->quarter[i] < 1 || (double)survival->quarter[i] < least)
			return false;
	}
	return true;
}

enum survival_verdict survival_judge(const struct survival *survival, bool growing)
{
	bool early = is_early(survival);
	bool old = !early && survival->old_count >= survival->window->rule.min_blocks;

	if (old && is_spread(survival))
		return SURVIVAL_STUCK;
	if (growing)
		return SURVIVAL_GROWING;
	if (old)
		return SURVIVAL_OLD;
	return early && survival->ages.total > 0 ? SURVIVAL_EARLY : SURVIVAL_NOTHING;
}

const char *survival_verdict_name(enum survival_verdict verdict)
{
	switch (verdict) {
	case SURVIVAL_STUCK: return "stuck";
	case SURVIVAL_GROWING: return "growing";
	case SURVIVAL_OLD: return "old";
	case SURVIVAL_EARLY: return "too early";
	default: return "";
	}
}

/* --- curve -------------------------------------------------------------------- */

/* Where a step of struct lifetimes ends, in ticks. */
static double step_end(unsigned int step)
{
	if (step < STEPS)
		return step + 1;
	return (double)(STEPS + step % STEPS + 1) * (double)(1ull << (step / STEPS - 1));
}

static double in_step(const struct lifetimes *lifetimes, unsigned int step)
{
	if (step < lifetimes->first || step - lifetimes->first >= lifetimes->count)
		return 0;
	return lifetimes->bucket[step - lifetimes->first];
}

size_t survival_curve(const struct survival *survival, struct survival_point *ret, size_t room)
{
	/* All that were seen from birth; those seen later join at their age. */
	double here = survival->deaths->total + survival->ages.total - survival->late.total;
	double share = 1;
	size_t count = 0;

	for (unsigned int step = 0; step < SURVIVAL_MAX_POINTS; step++) {
		double deaths = in_step(survival->deaths, step);
		double left = in_step(&survival->ages, step);
		double came = in_step(&survival->late, step);
		double at_risk = here + (came - left) / 2;

		here += came - left - deaths;
		if (!(deaths > 0))
			continue;
		/* Rounding must not make the share negative. */
		share *= at_risk > deaths ? 1 - deaths / at_risk : 0;
		if (count < room)
			ret[count] = (struct survival_point){ step_end(step) / survival->window->hz,
							      deaths, at_risk, share };
		count++;
	}
	return count;
}
