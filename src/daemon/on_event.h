/* SPDX-License-Identifier: MIT */
/* on_event.h - the command that a setting names is run for each event; nobody waits for it. */
#ifndef MEMATTACH_DAEMON_ON_EVENT_H
#define MEMATTACH_DAEMON_ON_EVENT_H

#include <stdint.h>

#include "src/daemon/events.h"

#define ON_EVENT_RUNNING	16u	/* at a time; further events are not passed on */
#define ON_EVENT_SECONDS	30u	/* then it gets a SIGALRM */

struct on_event {
	pid_t child[ON_EVENT_RUNNING];	/* 0: none */
	uint32_t missed;		/* events, since that was said */
};

/*
 * Runs command by sh, without what this process may do beyond its user: the event is in its
 * environment (memattach.conf(5)), its output goes to our stderr.
 */
void on_event_run(struct on_event *runs, const char *command, const struct daemon_event *event);
/* Some may have ended: for SIGCHLD. How many are running still. */
size_t on_event_reap(struct on_event *runs);

#endif
