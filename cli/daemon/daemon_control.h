/* SPDX-License-Identifier: MIT */
/* daemon_control.h - what memattachd answers to who asks it (docs/CONTROL.md). */
#ifndef MEMATTACH_CLI_DAEMON_CONTROL_H
#define MEMATTACH_CLI_DAEMON_CONTROL_H

#include "cli/daemon/daemon_restore.h"
#include "cli/daemon/daemon_watch.h"
#include "src/daemon/control.h"
#include "src/daemon/roster.h"

#define DAEMON_BY_HAND	"by-hand"	/* the rule of what no rule means */
#define DAEMON_OUTCOMES	64u

/* How the last sessions have ended, for those who wait to hear that. */
struct daemon_outcome {
	uint64_t serial;	/* 0: none */
	int status;
	char why[200];
};
struct daemon_outcomes {
	struct daemon_outcome last[DAEMON_OUTCOMES];
	size_t next;
};
void daemon_outcomes_note(struct daemon_outcomes *outcomes, const struct daemon_watch *watch);

/* How a process is to be watched, as far as somebody said; 0: as its rule has it. */
struct daemon_orders {
	double overhead_percent;
	uint64_t sample_bytes;
	double snapshot_every;
	struct control_peer peer;	/* who said it */
};

/* Borrowed, for one turn of answers. */
struct daemon_state {
	const struct settings *settings;
	const struct roster *roster;
	const struct process_search *search;
	struct daemon_watch *const *watch;	/* they move when one begins */
	const size_t *watches;
	const struct restore *restore;	/* those that are to be cleaned first */
	bool told;		/* the kernel tells of processes */
	const struct control *control;
	const struct daemon_outcomes *outcomes;
	const char *folder;	/* of recordings */
	void *daemon;		/* context of these: */
	/*
	 * Begins to watch pid, which is not watched: the last of watch is its session. 0; -EUSERS
	 * max-targets are; -ECANCELED it stops; -ESRCH; -errno.
	 */
	int (*attach)(void *daemon, pid_t pid, const struct daemon_orders *orders);
	/* pid is left if it is watched, and not begun again. 0; -ESRCH; -ENOMEM. */
	int (*hold)(void *daemon, pid_t pid);
};

/* context: a struct daemon_state. */
control_answer daemon_control_answer;
/* The answer to "status". */
void daemon_control_put_status(const struct daemon_state *state, const struct control_peer *peer,
			       struct emit *to);
/* May peer be told of this session, by rights_allow()? */
bool daemon_control_may_see_watch(const struct daemon_state *state,
				  const struct control_peer *peer,
				  const struct daemon_watch *watch);
/* Is there something to be cleaned, and may he be told of it? */
bool daemon_control_may_see_job(const struct daemon_state *state, const struct control_peer *peer,
				const struct restore_job *job);
/* Does it wait for its time (what is to be cleaned first does not), and may he be told of it? */
bool daemon_control_may_see_waiting(const struct daemon_state *state,
				    const struct control_peer *peer,
				    const struct roster_process *process);

#endif
