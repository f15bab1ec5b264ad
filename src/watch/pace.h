/* SPDX-License-Identifier: MIT */
/*
 * pace.h - what watching costs the target and this machine, and how finely it samples for it.
 */
#ifndef MEMATTACH_PACE_H
#define MEMATTACH_PACE_H

#include <stdbool.h>
#include <time.h>

#include "src/base/ticks.h"
#include "src/live/live.h"
#include "src/live/sites.h"
#include "src/ring/reader.h"
#include "src/watch/budget.h"

/* Borrowed, as long as the pace is used. */
struct pace_input {
	struct ring_control *control;
	size_t control_bytes;		/* of the whole mapping */
	const struct reader *reader;
	struct live *live;
	const struct sites *sites;
	const struct ticks *ticks;
	pid_t target;
	double pair_cost, custom_cost;	/* seconds, of malloc's and custom calls; hook_cost.h */
	double percent;		/* the budget; 0: the interval stays, costs are measured alone */
	bool sampled;		/* records are rare: what one needs is out of the caches */
	bool woken;		/* the reader sleeps until a ring is half full */
};

/* Since the beginning. Seconds are of processor time, but for wall. */
struct pace_costs {
	double wall, target, own, booked, calls_cost;	/* own: with what awakenings took */
	double shim;			/* what records took, with what they displaced */
	double calls, bytes;
};

/* Of drawn blocks: allocations and frees; and what is always recorded. */
struct pace_records {
	uint64_t alloc, free, certain;
	uint64_t intervals;		/* the sum of those that allocations were drawn with */
};

struct pace {
	struct pace_input in;
	bool running;			/* false: not begun, ended, or the target has */
	clockid_t target_clock, keeper_clock;
	double booked, booking;		/* seconds spent on records; since when, while it is done */
	double woken, use;		/* seconds that awakenings took; the part that it runs */
	struct pace_costs base, now, step;	/* at first, at the last look, at the last step */
	struct pace_records records;	/* since the last step */
	struct budget budget;
	uint64_t passed;		/* ring_threads_passed(), so far */
	double next_step, next_crowded;
};

/* Reads all clocks: what costs from here on counts. */
void pace_begin(struct pace *pace, const struct pace_input *input);
/* Around each drain of the rings. */
void pace_drain_begin(struct pace *pace);
void pace_drain_end(struct pace *pace, const struct pace_records *booked);
/* After a sleep. */
void pace_awake(struct pace *pace);
/* Another budget from now on, where the interval follows one. */
void pace_set_percent(struct pace *pace, double percent);
/* Between drains: measures, and moves the interval, whenever it is time. */
void pace_turn(struct pace *pace);
/* The last look: what costs from here on does not count. */
void pace_end(struct pace *pace);
/*
 * Of what was asked for while blocks were drawn, up to the last look: bytes in all, and those that
 * no sample may stand for. 0: everything was recorded.
 */
uint64_t pace_passed(const struct pace *pace);
struct estimate_unseen pace_unseen(const struct pace *pace);
/*
 * Everything that was paid, as a percentage of the time that the target had for itself;
 * negative: it had too little to say.
 */
double pace_overhead(struct pace *pace);

#endif
