/* SPDX-License-Identifier: MIT */
/*
 * rights.h - may who asks be told of a process, and have it watched? memattachd may trace
 * everybody, so it decides as the kernel does for who asks (__ptrace_may_access in
 * kernel/ptrace.c), in this file alone: for its socket, for HTTP and for those who follow events.
 */
#ifndef MEMATTACH_DAEMON_RIGHTS_H
#define MEMATTACH_DAEMON_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/daemon/control_peer.h"
#include "src/several/find.h"

/* What the kernel looks at, of a process at one moment. Zeroed: nobody's but root's. */
struct rights {
	uint64_t start_time; /* in ticks; with its id its identity; 0: it has ended */
	uid_t uid[4];        /* real, effective, saved, for files */
	gid_t gid[4];
	uint64_t capabilities; /* permitted ones */
	bool dumpable;         /* its files in /proc belong to its user */
	bool foreign;          /* it is in another user namespace than memattachd, */
	uid_t owner;           /* which this user has made below ours; -1: unknown */
};

/* Reads them. 0; -ESRCH it has ended. */
int rights_read(const struct process_search *search, pid_t pid, struct rights *ret) _must_check_;
/* Does the kernel let this user trace a process with these? He is taken for one without
 * capabilities.
 */
bool rights_may_trace(const struct rights *rights, const struct control_peer *peer);

/* A process that somebody asks about. */
struct rights_subject {
	pid_t pid;
	uint64_t start_time;        /* of the one that is meant; 0: who has this id now */
	const struct rights *began; /* of its session, when that began; NULL: there is none */
};
/*
 * May peer be told of it, and have it watched or left? As it is now, and as it was when its session
 * began: what was seen before a process changed its user belongs to who could see it then. False,
 * too, for everybody, of a process that has ended, and of another one that has got its id.
 */
bool rights_allow(const struct process_search *search, const struct rights_subject *subject,
		  const struct control_peer *peer);

#endif
