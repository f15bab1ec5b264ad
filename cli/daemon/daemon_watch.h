/* SPDX-License-Identifier: MIT */
/* daemon_watch.h - one process that memattachd watches: a child of ours that is its keeper. */
#ifndef MEMATTACH_DAEMON_WATCH_H
#define MEMATTACH_DAEMON_WATCH_H

#include "src/daemon/episodes.h"
#include "src/daemon/figures.h"
#include "src/daemon/rights.h"
#include "src/daemon/settings.h"
#include "src/session/session.h"
#include "src/several/find.h"

struct daemon_watch {
	pid_t pid;			/* of whom is watched */
	pid_t keeper;			/* our child; 0: it has ended */
	uint64_t serial;		/* of this session, among all of ours */
	struct rights rights;		/* of the process, when it began */
	struct control_peer asked_by;	/* who had it begun, where by_hand */
	bool by_hand;			/* rules don't decide how long */
	char *rule;			/* its name */
	char *recording;		/* path; NULL: there is none, or none any more */
	struct process_name name;	/* of the process, when it began */
	double begun;			/* roster_now() */
	double retry_after;
	int said;			/* its standard error */
	struct figures figures;
	struct episodes episodes;
	struct leak_check leak_check;
	double most_percent;		/* of its budget, by its rule; 0: it has none */
	double percent;			/* that it may spend now */
	double use;			/* processors that the process takes for itself; */
	double use_looked, use_seconds;	/* roster_now() of the last look, its processor time then */
	double leaks_due;		/* roster_now() of the next search; INFINITY: none */
	uint32_t answers;		/* to searches, that were looked at */
	int status;			/* how it ended: an exit status of ours; */
	char why[200];			/* and what was said last; "" nothing */
	bool killed;			/* by a signal */
	bool ending;			/* it was told to */
};

/* The status of one in which something of ours was already: nothing was touched. */
#define DAEMON_WATCH_CARRIES 64

/*
 * Makes ready to watch pid by rule; recordings are below state, in a folder for each rule. 0;
 * -errno: as after daemon_watch_done().
 */
int daemon_watch_prepare(struct daemon_watch *watch, pid_t pid, const struct watch_rule *rule,
			 const char *state) _must_check_;
/* Its process, for rights_allow(): the one that it began with, and no other with the same id. */
struct rights_subject daemon_watch_subject(const struct daemon_watch *watch);
/* Bytes that a session may take: to remember things; for copies of files that have names. */
struct daemon_watch_memory {
	uint64_t remembered, names;
};
/* Begins. As above. */
int daemon_watch_begin(struct daemon_watch *watch, const struct watch_rule *rule,
		       struct daemon_watch_memory memory) _must_check_;
/* Tells it to detach, once. */
void daemon_watch_end(struct daemon_watch *watch);
/*
 * Its keeper and its analyst, who sleep for seconds, look at once what there is for them: to be
 * called after something was asked of the analyst.
 */
void daemon_watch_nudge(const struct daemon_watch *watch);
/*
 * True: it has ended just now. What it said is in the log, but for why it was refused; and a
 * recording of nothing is gone.
 */
bool daemon_watch_reap(struct daemon_watch *watch);
void daemon_watch_done(struct daemon_watch *watch);

#endif
