/* SPDX-License-Identifier: MIT */
/* sharers.h - other processes that run in the target's very address space. */
#ifndef MEMATTACH_SHARERS_H
#define MEMATTACH_SHARERS_H

#include "inject/tracee/target.h"

/*
 * True when a process that is not the target shares its memory: a vfork or
 * posix_spawn child, or one cloned with CLONE_VM alone. It is in no list of the
 * target's threads, and may be in the middle of any function.
 */
bool sharers_exist(const struct target *target);
/* One of them, or 0. Does it still (pid > 0)? */
pid_t sharers_find(const struct target *target);
bool sharers_is_one(const struct target *target, pid_t pid);

/* What there was at one moment. */
#define SHARERS_KEPT 32
struct sharers_seen {
	pid_t last;	/* number of the newest process or thread of the machine; 0: not known */
	bool some;
	unsigned int count;	/* of pid, or more than are kept */
	pid_t pid[SHARERS_KEPT];
};
void sharers_look(const struct target *target, struct sharers_seen *ret);
/* As sharers_exist, but quick where not much has begun since. */
bool sharers_exist_since(const struct target *target, const struct sharers_seen *seen);

#endif
