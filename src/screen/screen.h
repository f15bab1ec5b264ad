/* SPDX-License-Identifier: MIT */
/* screen.h - the process that shows a session on a terminal, and nothing else. */
#ifndef MEMATTACH_SCREEN_H
#define MEMATTACH_SCREEN_H

#include <stdbool.h>

/* Exit statuses of its process. */
enum screen_end {
	SCREEN_ENDED = 0,	/* the analyst has done, or is gone */
	SCREEN_QUIT,		/* the user wants to detach, or a signal came */
	SCREEN_FAILED,		/* it can't be shown */
};

struct screen_options {
	int feed;		/* to the analyst, a stream socket */
	int control;		/* to the process that started this one, a stream socket */
	bool color;
};

/*
 * Waits for the analyst's first message, takes the terminal, shows what comes until the user
 * quits, the analyst has gone, or SIGTERM, SIGHUP or SIGQUIT comes; gives the terminal back.
 */
enum screen_end screen_run(const struct screen_options *options);

#endif
