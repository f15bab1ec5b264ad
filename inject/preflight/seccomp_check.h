/* SPDX-License-Identifier: MIT */
/* seccomp_check.h - would the target's own system call filter let our calls pass? */
#ifndef MEMATTACH_SECCOMP_CHECK_H
#define MEMATTACH_SECCOMP_CHECK_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How freeze.c calls clone(2) in the target, for a copy that shares its descriptors. */
#define SECCOMP_CHECK_COPY_FLAGS ((uint64_t)CLONE_FILES)

struct seccomp_verdict {
	bool filtered;		/* the target has a filter */
	bool allowed;		/* every call that attach and detach make is allowed */
	bool may_leave;		/* every call is that takes out what memattach's own loader made */
	bool may_close;		/* and the one for descriptors that are still open */
	bool may_restart;	/* restart_syscall, by which a sleep goes on after a stop */
	bool may_dlclose;	/* what glibc's dlclose calls, beside munmap */
	bool may_readv, may_wait;	/* process_vm_readv and futex from the shim */
	bool may_gettid;		/* and gettid */
	bool may_prctl;			/* prctl(PR_GET_TSC) */
	bool may_copy;			/* the calls of freeze.c */
	uint64_t held_us;	/* how long a thread was stopped for it, at the most */
	long refused;		/* first call that is not; -1: a filter can't be read */
	long refused_leaving;	/* likewise, of may_leave */
	int count;		/* filters that each thread had; -1: not all as many, or unknown */
};

/* Stops each filtered thread for as long as it takes to read its filters; touches nothing else. */
struct seccomp_verdict seccomp_check(pid_t pid);
/*
 * Whether a verdict of before, on pid or on who forked it, still holds, by the numbers of filters:
 * they are inherited and added to, never taken away. false: it has to be found out again.
 */
bool seccomp_check_holds(const struct seccomp_verdict *verdict, pid_t pid);

#endif
