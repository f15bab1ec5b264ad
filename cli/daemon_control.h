/* SPDX-License-Identifier: MIT */
/* daemon_control.h - what memattachd answers to who asks it (docs/CONTROL.md). */
#ifndef MEMATTACH_CLI_DAEMON_CONTROL_H
#define MEMATTACH_CLI_DAEMON_CONTROL_H

#include "cli/daemon_watch.h"
#include "src/daemon/control.h"
#include "src/daemon/roster.h"

/* Borrowed, for one answer. */
struct daemon_state {
	const struct settings *settings;
	const struct roster *roster;
	const struct process_search *search;
	const struct daemon_watch *watch;
	size_t watches;
	bool told;	/* the kernel tells of processes */
};

/* context: a struct daemon_state. */
control_answer daemon_control_answer;
/* Is it peer's business? */
bool daemon_control_may_see(const struct daemon_state *state, const struct control_peer *peer,
			    pid_t pid);

#endif
