/* SPDX-License-Identifier: MIT */
/* daemon_private.h - what the parts of memattachd's loop share (daemon.c, daemon_hand.c). */
#ifndef MEMATTACH_CLI_DAEMON_PRIVATE_H
#define MEMATTACH_CLI_DAEMON_PRIVATE_H

#include <poll.h>

#include "cli/daemon/daemon.h"
#include "cli/daemon/daemon_control.h"
#include "cli/daemon/daemon_http.h"
#include "cli/daemon/daemon_restore.h"
#include "cli/daemon/daemon_tell.h"
#include "src/daemon/target_quota.h"
#include "src/daemon/watched.h"

struct daemon {
	const struct daemon_files *files;
	struct settings settings;
	struct matcher matcher;
	struct process_search search;
	struct roster roster;
	struct daemon_watch *watch;
	size_t watches;
	struct watched watched;
	struct restore restore;
	struct daemon_tell tell;
	struct control *control;	/* NULL: nobody can ask */
	struct daemon_outcomes outcomes;
	uint64_t sessions;		/* so far */
	struct daemon_http http;
	gid_t group;		/* that may see everything; (gid_t)-1: none */
	struct pollfd *poll;	/* signals, events, HTTP, control's, then a watch each */
	size_t polls;		/* that there is room for */
	int events;		/* -1: the kernel tells us nothing */
	int signals;
	double looked, asked, tidied, shared, checked;	/* roster_now() of the last ones */
	double heard;		/* of events and watches */
	bool ended;		/* a child has, and was not looked for */
	bool stopping;
	int status;
};

/* Begins to watch it: the last of d->watch. 0 or -errno, which is in the log. */
int daemon_begin_by(struct daemon *d, struct roster_process *process,
		    const struct watch_rule *rule) _must_check_;
/* Removes recordings of each rule, and of each user by hand, that are too old or too many. */
void daemon_tidy_up(struct daemon *d);
/* The same at once, of the user whose session has just ended: he may begin a thousand more. */
void daemon_tidy_hand(struct daemon *d, const struct daemon_watch *watch);
/* Are there places (target_quota.h) at all, and for this process? */
bool daemon_has_places(const struct daemon *d, enum places_asker asker);
bool daemon_has_place_for(const struct daemon *d, enum places_asker asker, pid_t pid);
/* Answers what was asked at the control socket and over HTTP. */
void daemon_take_questions(struct daemon *d);
/*
 * Leaves processes that a user had watched who may not trace them any more: they have changed their
 * user, or have got rights that he has not.
 */
void daemon_check_hands(struct daemon *d, double now);
/* When that is to be done next, in roster_now()'s seconds; INFINITY: there are none. */
double daemon_check_hands_next(const struct daemon *d);

#endif
