/* SPDX-License-Identifier: MIT */
/*
 * suspect.c - see suspect.h.
 *
 * Survival decides (survival.h). Growth is added where survival has nothing to say: the site's
 * live bytes grew more than by chance, what it got early in the window is still there, and,
 * where there are snapshots to ask, the level still rises in the last quarter.
 *
 * An earlier session adds its deaths, its births and its length. A watch that is shorter than
 * twice the longest lifetime can't see growth at all, since what new blocks replace was not
 * seen allocated: then it is the earlier session that tells.
 */
#include "src/leak/candidates/suspect.h"

#define TURNOVERS 2.0	/* watched so many times the longest lifetime: enough */

/* What grows keeps some of what it got early: this share, 1 / N, is from the first half. */
enum { GROWING_OLD = 3 };

static uint64_t past_ticks(const struct suspect_past *past, double hz)
{
	double ticks = past ? past->seconds * hz : 0;

	return ticks > 0 && ticks < 0x1p62 ? (uint64_t)ticks : 0;
}

/* Blocks of a part count as born at its end. */
static void add_past(struct suspect *suspect)
{
	const struct site_life *life = suspect->past->life;
	double part = life->seconds * suspect->window.hz / SITE_LIVES_PARTS;
	uint64_t before = suspect->survival.old_count;

	for (unsigned int i = 0; i < SITE_LIVES_PARTS; i++) {
		double born = part * (i + 1);

		if (life->born[i] && born >= 0 && born < 0x1p62)
			survival_add_past(&suspect->survival, (uint64_t)born, life->born[i], 1);
	}
	suspect->past_old = suspect->survival.old_count - before;
}

void suspect_begin(struct suspect *suspect, const struct survival_window *window,
		   const struct lifetimes *deaths, const struct suspect_past *past)
{
	double seconds = (double)(window->now - window->begin) / window->hz;
	double before = past ? past->seconds : 0;

	*suspect = (struct suspect){ .window = *window, .past = past };
	suspect->window.past = past_ticks(past, window->hz);
	suspect->window.rule = survival_default_rule(seconds > before ? seconds : before);
	lifetimes_merge(&suspect->deaths, deaths, 1);
	if (past && past->life)
		lifetimes_merge(&suspect->deaths, &past->life->freed, window->hz / 1e9);
	survival_init(&suspect->survival, &suspect->window, &suspect->deaths);
	if (past && past->life)
		add_past(suspect);
}

void suspect_add(struct suspect *suspect, uint64_t born, uint64_t count, double weight)
{
	const struct survival_window *window = &suspect->window;

	survival_add_live_many(&suspect->survival, born, count, weight);
	suspect->count += count;
	if (born < window->begin || born - window->begin < (window->now - window->begin) / 2)
		suspect->early += count;
}

/* Could this session alone see that the site grows? */
static bool present_tells(const struct suspect *suspect)
{
	double watched = (double)(suspect->window.now - suspect->window.begin);

	return !suspect->past || !suspect->past->life ||
	       watched >= TURNOVERS * (double)suspect->deaths.max;
}

static bool is_growing(const struct suspect *suspect, bool grew, enum trend_verdict trend)
{
	if (!present_tells(suspect))
		return suspect->past->growing;
	return grew && trend != TREND_FLAT && suspect->early * GROWING_OLD >= suspect->count;
}

/* Has this session alone seen enough blocks grow old, in time enough? */
static bool is_old_alone(const struct suspect *suspect)
{
	const struct survival *survival = &suspect->survival;
	double watched = (double)(suspect->window.now - suspect->window.begin);

	return survival->old_count - suspect->past_old >= suspect->window.rule.min_blocks &&
	       survival_needs(survival) * suspect->window.hz <= watched;
}

struct suspect_finding suspect_end(struct suspect *suspect, bool grew, enum trend_verdict trend)
{
	bool growing = is_growing(suspect, grew, trend);
	struct suspect_finding ret = {
		.verdict = survival_judge(&suspect->survival, growing),
		.growing = growing,
		.needs = survival_needs(&suspect->survival),
		.longest = (double)suspect->deaths.max / suspect->window.hz,
	};

	if (ret.verdict == SURVIVAL_GROWING)
		ret.by_past = !present_tells(suspect);
	else if (ret.verdict == SURVIVAL_STUCK || ret.verdict == SURVIVAL_OLD)
		ret.by_past = !is_old_alone(suspect);
	survival_done(&suspect->survival);
	lifetimes_done(&suspect->deaths);
	suspect->past = NULL;
	return ret;
}

enum leak_verdict suspect_verdict(enum survival_verdict verdict)
{
	switch (verdict) {
	case SURVIVAL_STUCK: return LEAK_STUCK;
	case SURVIVAL_GROWING: return LEAK_GROWING;
	case SURVIVAL_OLD: return LEAK_OLD;
	default: return LEAK_REACHABLE;
	}
}
