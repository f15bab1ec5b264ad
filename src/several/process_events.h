/* SPDX-License-Identifier: MIT */
/*
 * process_events.h - forks, execs and ends of all processes, as the kernel tells of them (its
 * process connector). It tells only who may see all of its processes: in the first pid and user
 * namespace, with CAP_NET_ADMIN before Linux 6.6.
 */
#ifndef MEMATTACH_SEVERAL_PROCESS_EVENTS_H
#define MEMATTACH_SEVERAL_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* Of processes: threads that begin and end are no events. */
struct process_event {
	enum process_event_kind {
		PROCESS_OTHER,		/* nothing that matters */
		PROCESS_FORK, PROCESS_EXEC, PROCESS_EXIT
	} kind;
	pid_t pid;		/* of whom; of a fork the child */
	pid_t parent;		/* of a fork */
	bool noticed;		/* an end: a signal tells its parent, as of an ordinary child */
};

/* From now on events are kept for us. A descriptor to be closed by the next; -errno: not here. */
int process_events_open(void) _must_check_;
/* -1 is ignored. */
void process_events_close(int fd);
/*
 * 1 *ret is the next, 0 there is none just now; -ENOBUFS some were lost, and this can be called
 * again; -errno there will be no more.
 */
int process_events_next(int fd, struct process_event *ret) _must_check_;
/* What a message of size bytes from the kernel says (for process_events_next, and tests). */
struct process_event process_events_parse(const void *message, size_t size);

#endif
