/* SPDX-License-Identifier: MIT */
/*
 * roster.h - all processes of the machine, and which of them are to be watched from when on.
 *
 * Times are seconds since boot (CLOCK_BOOTTIME), as the kernel has those of processes.
 */
#ifndef MEMATTACH_DAEMON_ROSTER_H
#define MEMATTACH_DAEMON_ROSTER_H

#include "src/daemon/match.h"

enum roster_state {
	ROSTER_UNMEANT = 0,	/* no rule means it */
	ROSTER_WAITING,		/* to be watched from due on */
	ROSTER_WATCHED,
};

struct roster_process {
	pid_t pid;
	uint64_t start_time;	/* in ticks; with pid its identity */
	enum roster_state state;
	double due;
	uint32_t refusals;	/* in a row */
	bool held;		/* by hand: not to be watched, whatever rules say */
	size_t rule;		/* index in the settings, unless ROSTER_UNMEANT */
};

/* Somebody who has begun, or has become another program, and is not yet looked at. */
struct roster_note {
	pid_t pid;
	double time;
};

struct roster {
	struct roster_process *process;	/* by pid, ascending */
	size_t count;
	struct roster_note *note;	/* by time */
	size_t notes, notes_room;
	uint64_t random;		/* for spreads; not 0 */
};

double roster_now(void);
void roster_done(struct roster *roster);

/*
 * Takes in who is new, by the rules, and forgets who has ended; a watched one stays until
 * roster_ended(). Whom no rule means may be about to become another program: in its first minute
 * it is asked about by each look. 0, -ENOMEM, -errno.
 */
int roster_look(struct roster *roster, const struct process_search *search,
		const struct matcher *matcher, double now) _must_check_;
/*
 * One is new or has become another program. It is looked at a second later: most processes are
 * short, and of those nobody has to know. 0, -ENOMEM, -ENOBUFS there are too many: look at all.
 */
int roster_note(struct roster *roster, pid_t pid, double now) _must_check_;
/* Looks at those whose second is over. 0 or -ENOMEM. */
int roster_look_at_noted(struct roster *roster, const struct process_search *search,
			 const struct matcher *matcher, double now) _must_check_;
/*
 * The same, and all that are not watched are asked about: the rules have changed, or some may have
 * become other programs.
 */
int roster_ask_again(struct roster *roster, const struct process_search *search,
		     const struct matcher *matcher, double now) _must_check_;

/*
 * The rules are others now. Who is watched by one that is still there, by its name, or was refused
 * and waits for it, keeps it; the others that waited are to be asked about by a look, and sessions
 * of those whose rule has gone are the caller's to end.
 */
void roster_rules_changed(struct roster *roster, const struct settings *old,
			  const struct settings *fresh);

/* NULL: not known. Pointers are good until the next look. */
struct roster_process *roster_find(const struct roster *roster, pid_t pid);
/*
 * The same, but it is known from now on: as one that no rule means, if it was not. 0; -ESRCH it has
 * ended; -ENOMEM.
 */
int roster_know(struct roster *roster, pid_t pid, struct roster_process **ret) _must_check_;
/* It is left alone until roster_unhold(), or its end. A session of it is the caller's to end. */
void roster_hold(struct roster_process *process);
void roster_unhold(struct roster_process *process);
/* One that is due; of several the one for the longest time. NULL: none. */
struct roster_process *roster_due(const struct roster *roster, double now);
/* When the next one is due, or to be looked at; INFINITY: none is waiting. */
double roster_next(const struct roster *roster);

/*
 * Its session has ended. refused: it is tried again, after retry_after seconds, which each refusal
 * in a row doubles, up to sixteen times that; else it is asked about anew by the next look.
 */
void roster_ended(struct roster_process *process, bool refused, double retry_after, double now);
/* The process, which is due, waits until then. */
void roster_put_off(struct roster_process *process, double due);
/* One that is due waits for something else; until it is over. */
void roster_pause(struct roster_process *process);
void roster_resume(struct roster_process *process, double now);

#endif
