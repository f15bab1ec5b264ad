/* SPDX-License-Identifier: MIT */
/*
 * front_member.h - one of several processes that are watched side by side: a front of its own,
 * whose session is an ordinary one and whose report is a recording.
 */
#ifndef MEMATTACH_FRONT_MEMBER_H
#define MEMATTACH_FRONT_MEMBER_H

#include "cli/front/front.h"
#include "src/recording/recording.h"
#include "src/recording/unnamed.h"
#include "src/session/session.h"
#include "src/several/find.h"

/* Where what is watched goes. */
struct member_recording {
	char *name;			/* its file, or what messages call it; owned */
	struct recording_unnamed unnamed;	/* none: it has that name */
};

struct member {
	pid_t pid;			/* of whom is watched */
	uint64_t start_time;		/* of it, in clock ticks since boot; 0: unknown */
	bool followed;			/* forked by another member's process, or after an exec */
	bool started;			/* by us: its end is no surprise */
	struct process_name name;	/* when it began */
	pid_t front;			/* our child that watches it; 0: it has ended */
	int status;			/* how that ended: an exit status of ours */
	struct member_recording recording;
	int said;			/* its standard error: a file in memory */
	char problem[300];		/* why there is no recording; "" there is one */
	struct recording_content content;	/* once it was read */
};

/* Memory that all members share with the front of all. */
struct member_orders {
	_Atomic bool stop;		/* set before they are told to */
};

/* What to do for a member. */
struct member_task {
	const struct session_options *options;	/* of its session; output is its own */
	double duration;			/* seconds; negative: until it is told */
	bool followed;
	const struct member_orders *orders;
	struct program *program;		/* to be started, which pid is; NULL: it runs */
	int found;				/* session_options.tell_children; -1: none */
};

/* Begins to watch pid, into recording (taken). 0 or -errno. */
int member_begin(struct member *member, pid_t pid, struct member_recording recording,
		 const struct member_task *task) _must_check_;
/* Reads what a session with these options recorded. As recording_read. */
int member_read(const struct session_options *options, struct recording_content *ret)
	_must_check_;
/* Reaped: does the process still run, as another program (exec)? */
bool member_has_execed(const struct member *member);
/* Tells its front; nothing where it has ended. */
void member_signal(const struct member *member, int signal);
/* True: its front has ended just now, and status is set. */
bool member_reap(struct member *member);
/*
 * What it said goes to stderr, a line with its id each; reads its recording, or finds out why there
 * is none, and removes then what there is of it.
 */
void member_conclude(struct member *member);
/* Concluded: was it a child that ended before it could be watched? Then nothing is said of it. */
bool member_is_missed(const struct member *member);
/* keep: the recording stays, if it has a name. */
void member_done(struct member *member, bool keep);

#endif
