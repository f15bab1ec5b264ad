/* SPDX-License-Identifier: MIT */
/*
 * trend.c - see trend.h.
 *
 * The floor of each quarter is compared with that of the next: what a cache throws away and
 * takes again moves the ceiling, a leak lifts the floor. The level must have risen in the
 * second, the third and the last quarter, in none of them by less than a quarter of what it
 * rose in another: a table that is full, or fills ever more slowly, is out. The first quarter
 * does not count, in which everything fills.
 * Where old snapshots are far apart, floors are those of a moment before: rises look larger
 * early and smaller late, which errs on the side of silence.
 * Rejected: Mann-Kendall and Theil-Sen over the snapshots, which call a cache that filled in the
 * first hour growing for the next three.
 */
#include "src/leak/candidates/trend.h"

#define MIN_LOOKS	8u
#define LEAST_SHARE	4	/* of another quarter's rise: 1 / N */
#define RISE_SHARE	20	/* of the level, all together: 1 / N */

void trend_init(struct trend *trend, double end)
{
	*trend = (struct trend){ .end = end };
}

/* To the quarter of time; the level is carried on. */
static void pass(struct trend *trend, double time)
{
	while (trend->quarter < 3 && time >= trend->end * (trend->quarter + 1) / 4)
		trend->floor[++trend->quarter] = trend->level;
	trend->time = time;
}

void trend_add(struct trend *trend, double time, double level)
{
	/* not a number is no later, either */
	if (time > trend->time)
		pass(trend, time < trend->end ? time : trend->end);
	trend->level = level;
	if (level < trend->floor[trend->quarter])
		trend->floor[trend->quarter] = level;
}

enum trend_verdict trend_judge(const struct trend *trend, uint64_t looks)
{
	struct trend t = *trend;
	double rise[3], least, most, all;

	if (looks < MIN_LOOKS || !(t.end > 0))
		return TREND_UNKNOWN;
	pass(&t, t.end);
	rise[0] = t.floor[2] - t.floor[1];
	rise[1] = t.floor[3] - t.floor[2];
	rise[2] = t.level - t.floor[3];
	least = most = rise[0];
	for (unsigned int i = 1; i < 3; i++) {
		least = rise[i] < least ? rise[i] : least;
		most = rise[i] > most ? rise[i] : most;
	}
	all = t.level - t.floor[1];
	return least > 0 && least * LEAST_SHARE >= most && all * RISE_SHARE >= t.level ?
		       TREND_RISING : TREND_FLAT;
}
