/* SPDX-License-Identifier: MIT */
/*
 * figures.h - what a session tells of itself while it runs: the last figures of its analyst, which
 * takes us for a live screen (src/screen/wire.h) and is believed as little as by one.
 */
#ifndef MEMATTACH_DAEMON_FIGURES_H
#define MEMATTACH_DAEMON_FIGURES_H

#include <stdbool.h>

#include "src/screen/wire.h"

struct figures {
	int socket;			/* -1: nothing more comes */
	struct screen_inbox in;
	bool known;
	double time;			/* when they came, as the caller counts */
	struct screen_state state;	/* as sent, but that what is no number is 0 */
	uint32_t growing;		/* sites that grow, and not by chance */
	double growth;			/* of these, bytes a second */
};

/* ret_theirs: the analyst's end, the caller's to close. 0 or -errno. */
int figures_open(struct figures *figures, int *ret_theirs) _must_check_;
/* Takes what has come, without waiting. True: there are new figures. */
bool figures_take(struct figures *figures, double now);
/* Nothing more is heard; the last figures stay. */
void figures_close(struct figures *figures);

#endif
