/* SPDX-License-Identifier: MIT */
/*
 * daemon_restore.h - processes in which a killed keeper, or a killed memattachd's, has left what is
 * inert by now: a child of ours each takes it out, as `memattach cleanup -p PID` does.
 */
#ifndef MEMATTACH_DAEMON_RESTORE_H
#define MEMATTACH_DAEMON_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/daemon/watched.h"
#include "src/several/find.h"

enum restore_result {
	RESTORE_PENDING = 0,	/* it is tried (again) when it is due */
	RESTORE_CLEANED,	/* taken out */
	RESTORE_NOTHING,	/* nothing of ours was there */
	RESTORE_COPIES,		/* copies of a living session were; they are out */
	RESTORE_HELD,		/* a living memattach has it: left alone */
	RESTORE_REFUSED,	/* nobody knew of it before, and it can't be entered */
	RESTORE_GONE,		/* it has ended */
};

struct restore_job {
	struct watched_process of;
	struct process_name name;
	bool known;		/* we have left something: else it is only what was found there */
	bool children;		/* and perhaps in processes that it forked, too */
	double begun, due;	/* roster_now() */
	uint32_t tries;
	pid_t child;		/* at work; 0: none */
	int said;		/* its standard error */
	enum restore_result result;
	bool failed;		/* the last try did; it has not been told yet */
	char why[200];
};

struct restore {
	struct restore_job *job;
	size_t count;
	bool last;		/* no further tries */
};

void restore_done(struct restore *restore);
/* Is something of ours there, and no living memattach to take it out? For a child of ours. */
bool restore_is_needed(pid_t pid);
/* Takes in a job that is due now. The job, until the next call; NULL: no memory. */
struct restore_job *restore_add(struct restore *restore, const struct watched_process *of,
				const struct process_name *name, bool known);
/* Of a process that is to be cleaned. The job, until the next call; NULL: none, or it has ended. */
const struct restore_job *restore_find(const struct restore *restore, pid_t pid);
bool restore_has(const struct restore *restore, pid_t pid);
/* Is it the process that the job is of, and no other that has got its id? */
bool restore_is_there(const struct restore_job *job);
/* Begins what is due. */
void restore_begin(struct restore *restore, double now);
/*
 * Children may have ended: for SIGCHLD. A job that has news, by result or by failed; to be called
 * until it has none: NULL. Good until the next call.
 */
struct restore_job *restore_reap(struct restore *restore, double now);
/* It is told and over. */
void restore_remove(struct restore *restore, struct restore_job *job);
/* Each is tried once more, at once; then no more. */
void restore_last(struct restore *restore, double now);
/* How many are at work, or to be tried. */
size_t restore_busy(const struct restore *restore);
/* Is there one that was tried in vain? */
bool restore_failing(const struct restore *restore);
/* When the next one is due; INFINITY: none. */
double restore_next(const struct restore *restore);

#endif
