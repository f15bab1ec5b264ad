/* SPDX-License-Identifier: MIT */
/*
 * figures.h - what a session tells of itself while it runs: the last figures of its analyst, which
 * takes us for a live screen (src/screen/wire.h) and is believed as little as by one.
 */
#ifndef MEMATTACH_DAEMON_FIGURES_H
#define MEMATTACH_DAEMON_FIGURES_H

#include <stdbool.h>

#include "src/screen/wire.h"

/* The last search for leaks that figures_search() asked for. */
struct figures_search {
	bool under_way;
	uint32_t answers;		/* so far; each one is either of these: */
	struct screen_leaks found;	/* as sent, but that what is no number is 0 */
	char why[200];			/* there is no result; "" there is one */
	double time;			/* when it came, as the caller counts */
};

struct figures {
	int socket;			/* -1: nothing more comes */
	struct screen_inbox in;
	bool known;
	double time;			/* when they came, as the caller counts */
	struct screen_state state;	/* as sent, but that what is no number is 0 */
	uint32_t growing;		/* sites that grow, and not by chance */
	struct figures_search search;
};

/* ret_theirs: the analyst's end, the caller's to close. 0 or -errno. */
int figures_open(struct figures *figures, int *ret_theirs) _must_check_;
/* Takes what has come, without waiting. True: there are new figures. */
bool figures_take(struct figures *figures, double now);
/*
 * Has its analyst search for leaks, beside the session; one that is under way already will do. What
 * it found is in figures->search, once figures_take() has heard more answers than before, that of a
 * session which ended before it was done included. 0; -EPIPE nothing more comes.
 */
int figures_search(struct figures *figures) _must_check_;
/* Nothing more is heard; the last figures stay. */
void figures_close(struct figures *figures);

#endif
