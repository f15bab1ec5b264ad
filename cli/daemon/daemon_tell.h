/* SPDX-License-Identifier: MIT */
/*
 * daemon_tell.h - what memattachd tells others: events of the processes that it watches, and how
 * it is to the service manager.
 */
#ifndef MEMATTACH_DAEMON_TELL_H
#define MEMATTACH_DAEMON_TELL_H

#include "cli/daemon/daemon_restore.h"
#include "cli/daemon/daemon_watch.h"
#include "src/daemon/control.h"
#include "src/daemon/on_event.h"
#include "src/daemon/roster.h"

struct daemon_tell {
	struct on_event runs;
	struct control *control;		/* those who follow; NULL: nobody can */
	const struct process_search *search;
	char status[160];	/* what the service manager knows */
	double watchdog, alive;	/* seconds between two words; roster_now() of the last one */
};

void daemon_tell_init(struct daemon_tell *tell);
/* A session has begun; it has ended. */
void daemon_tell_begun(struct daemon_tell *tell, const struct settings *settings,
		       const struct daemon_watch *watch);
void daemon_tell_ended(struct daemon_tell *tell, const struct settings *settings,
		       const struct daemon_watch *watch);
/* The same of what was left in it, for as long as job has news. */
void daemon_tell_restored(struct daemon_tell *tell, const struct settings *settings,
			  const struct restore_job *job, const char *state);
/* It has new figures. */
void daemon_tell_figures(struct daemon_tell *tell, const struct settings *settings,
			 struct daemon_watch *watch);
/* A search for leaks has ended. */
void daemon_tell_search(struct daemon_tell *tell, const struct settings *settings,
			struct daemon_watch *watch);
/* What there is to do, where that has changed. */
void daemon_tell_state(struct daemon_tell *tell, const struct roster *roster,
		       const struct restore *restore, size_t watched);
/* At each turn of the loop: all is well. The number of commands for events that are running. */
size_t daemon_tell_turn(struct daemon_tell *tell, double now);
/* When the next turn must be, in roster_now()'s seconds; INFINITY: never. */
double daemon_tell_next(const struct daemon_tell *tell);
void daemon_tell_ready(const struct daemon_tell *tell);
void daemon_tell_stopping(size_t watched);

#endif
