/* SPDX-License-Identifier: MIT */
/*
 * growth.h - do a process's live bytes grow, and not by chance; and do they stay up afterwards?
 *
 * One estimate of each snapshot goes in. Nothing here reads a clock or a process. docs/EVENTS.md
 * has the rules, why they are these, and how often they are wrong.
 */
#ifndef MEMATTACH_DAEMON_GROWTH_H
#define MEMATTACH_DAEMON_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#define GROWTH_BEFORE		24u	/* snapshots before a run can begin */
#define GROWTH_RUN		8u	/* snapshots in a row that it takes, at least; */
#define GROWTH_LONGEST_RUN	128u	/* and at most */
#define GROWTH_LEAST_BYTES	(1u << 20)
#define GROWTH_LEAST_SHARE	0.05	/* of what lived before */
#define GROWTH_FACTOR		2u	/* by which it has to go on to be told again */
#define GROWTH_HELD		16u	/* snapshots that a plateau takes, at least */
#define GROWTH_SPANS		64u
#define GROWTH_LONGEST_SPAN	32u	/* snapshots: 2,048 are remembered */

/* Of one snapshot. */
struct growth_point {
	double time;			/* seconds */
	uint64_t live, low, high;	/* bytes, with their 95 % interval; low <= live <= high */
	uint64_t rss;			/* 0: not known */
	bool sites;			/* are there sites that grow, and not by chance? */
};

enum growth_news {
	GROWTH_NOTHING = 0,
	GROWTH_GROWS,		/* for the first time, or on by GROWTH_FACTOR */
	GROWTH_HOLDS,		/* it has grown, and keeps that: a plateau */
};

/* Neighbouring snapshots: the highest of them, and when they ended. */
struct growth_span {
	uint64_t high, rss;
	double time;
};

struct growth {
	struct growth_span span[GROWTH_SPANS];	/* the past, oldest first */
	uint32_t spans;
	uint32_t span_length;		/* snapshots in each; */
	uint32_t span_filled;		/* and in the last one */
	struct growth_span base;	/* of the run: the older half of the past when it began */
	uint32_t run;			/* its snapshots; 0: there is none */
	uint64_t run_high;		/* the highest of them; */
	uint32_t run_record;		/* the last that was for certain higher than the one */
	uint64_t record_high;		/* that was so before it */
	uint32_t failed;		/* the longest run that fell again */
	uint64_t told_bytes;		/* by which it has grown; 0: nothing was told of the run */
};

/* All zero before the first one. What is to be said, of what is above growth->base. */
enum growth_news growth_take(struct growth *growth, const struct growth_point *point);
/* Bytes above the base; seconds since it. */
uint64_t growth_bytes(const struct growth *growth, const struct growth_point *point);
double growth_seconds(const struct growth *growth, const struct growth_point *point);

#endif
