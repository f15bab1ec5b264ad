/* SPDX-License-Identifier: MIT */
/*
 * survival.h - which sites keep blocks that nobody lost but nobody will free either.
 *
 * Age alone is no verdict: caches and sessions are old as well. A site is stuck when its
 * survival curve has a plateau: blocks much older than any that it ever freed, born all over
 * the time it was watched. It is fed at report time: deaths are in the site's lifetimes
 * (sites.h), living blocks are added one by one (live_each), so nothing is kept per block.
 */
#ifndef MEMATTACH_LEAK_SURVIVAL_H
#define MEMATTACH_LEAK_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/live/lifetimes.h"

enum survival_verdict {
	SURVIVAL_NOTHING = 0,	/* nothing to be said against it */
	SURVIVAL_EARLY,		/* not watched for long enough to tell */
	SURVIVAL_OLD,		/* holds blocks beyond its plateau, but got them in one go */
	SURVIVAL_GROWING,
	SURVIVAL_STUCK,
};
/* When a plateau is one. */
struct survival_rule {
	uint32_t min_blocks;		/* beyond the plateau, samples, not weights */
	double ratio;			/* plateau: this times the longest lifetime seen */
	double window_share;	/* too early: the plateau begins beyond this share of the window */
	double quarter_share;	/* each quarter of the window has this share of their births */
	double floor, floor_unfreed;	/* seconds: the plateau's least; where nothing was freed */
};
/* 5 blocks, ratio 3, 0.8, 0.1; 60 s (a tenth of a window shorter than 10 minutes), 600 s. */
struct survival_rule survival_default_rule(double window_seconds);

/* The time for which sites were watched. */
struct survival_window {
	uint64_t begin, now;		/* ticks */
	double hz;			/* ticks per second */
	struct survival_rule rule;
	uint64_t past;			/* ticks that an earlier session watched; 0: none did */
};
/* One site. */
struct survival {
	const struct survival_window *window;	/* borrowed */
	const struct lifetimes *deaths;		/* borrowed; of blocks born in the window, late */
	struct lifetimes ages;			/* of blocks that live */
	struct lifetimes late;			/* ages at which those born before were seen */
	uint64_t plateau;			/* ticks: where it begins */
	uint64_t old_count;			/* blocks born in the window that are older, */
	double old_weight;			/* the same, scaled */
	uint64_t quarter[4];			/* and when they were born, of the time in which */
						/* blocks were born that could be that old */
};

/* window, deaths: borrowed. Free with survival_done. */
void survival_init(struct survival *survival, const struct survival_window *window,
		   const struct lifetimes *deaths);
void survival_done(struct survival *survival);
/* A block that lives, born in the window at TSC born. weight: 1, or 1 / (1 - exp(-size / I)). */
void survival_add_live(struct survival *survival, uint64_t born, double weight);
/* The same for count of them, weight each. */
void survival_add_live_many(struct survival *survival, uint64_t born, uint64_t count,
			    double weight);
/*
 * Blocks that lived at the end of the earlier session (window.past), born that many ticks after
 * its beginning. What became of them is not known: they grew as old as they were at its end.
 */
void survival_add_past(struct survival *survival, uint64_t born, uint64_t count, double weight);
/*
 * A block that was there before the window, first seen at age seen (ticks), now of age: it tells
 * nothing about younger ages (left truncation). ended: its death is in deaths.
 */
void survival_add_late(struct survival *survival, uint64_t seen, uint64_t age, bool ended,
		       double weight);
/* growing: the site's live bytes surely grew (sites_growth). After all blocks were added. */
enum survival_verdict survival_judge(const struct survival *survival, bool growing);
/* Seconds that one session has to watch before it is not too early any more. */
double survival_needs(const struct survival *survival);
/* "stuck", "growing", "old", "too early", "". */
const char *survival_verdict_name(enum survival_verdict verdict);

/* A step of the survival curve (Kaplan-Meier's, by steps of an eighth of a doubling). */
struct survival_point {
	double seconds;		/* of age, end of the step */
	double deaths, at_risk;	/* blocks, scaled: freed in this step; alive and watched in it */
	double share;		/* of blocks that outlive it, 0 to 1 */
};
/*
 * The curve, one point for each step in which blocks were freed, by age: the first room of
 * them. Returns how many there are (at most SURVIVAL_MAX_POINTS).
 */
#define SURVIVAL_MAX_POINTS LIFETIMES_STEPS
size_t survival_curve(const struct survival *survival, struct survival_point *ret, size_t room);

#endif
