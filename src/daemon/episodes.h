/* SPDX-License-Identifier: MIT */
/*
 * episodes.h - what a session's figures tell over time: which of them are worth an event.
 *
 * Each kind is told once per episode, and again only when it has become GROWTH_FACTOR times as
 * much.
 * Nothing here reads a clock or a process. docs/EVENTS.md has the rules.
 */
#ifndef MEMATTACH_DAEMON_EPISODES_H
#define MEMATTACH_DAEMON_EPISODES_H

#include "src/daemon/events.h"
#include "src/daemon/figures.h"
#include "src/daemon/growth.h"

#define EPISODE_BUDGET_RUN	5u	/* snapshots in a row above the budget, or no more */
#define EPISODE_LEAST_CPU	0.005	/* of a processor: less is no news */
#define EPISODE_NEWS		3u	/* of one snapshot at the most */

struct episodes {
	double every;			/* seconds between snapshots, by its rule */
	double budget;			/* percent; 0: none, the interval of sampling is fixed */
	double taken;			/* figures->time of the last one */
	struct growth growth;
	uint32_t above, below;		/* snapshots in a row */
	bool over;			/* the budget, and told */
	uint64_t lost_told, gaps_told, lost_last, gaps_last;
	uint64_t leaked_told;		/* bytes */
};

/* An event but for whose it is. */
struct episode_news {
	enum event_kind kind;
	char text[200];
	struct event_number number[EVENT_NUMBERS];
	size_t numbers;
};

void episodes_init(struct episodes *episodes, double every, double budget);
/*
 * Takes figures that have just come. What is to be told; the number of them. Figures that come
 * faster than in half of the time that they should are not looked at.
 */
size_t episodes_take(struct episodes *episodes, const struct figures *figures,
		     struct episode_news ret[EPISODE_NEWS]);
/* The same for the result of a search for leaks: 1 or 0. pre: it has a result. */
size_t episodes_take_search(struct episodes *episodes, const struct figures_search *search,
			    struct episode_news *ret);

#endif
