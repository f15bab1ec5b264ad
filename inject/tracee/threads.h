/* SPDX-License-Identifier: MIT */
/* threads.h - which thread of the target to borrow, found without stopping any. */
#ifndef MEMATTACH_THREADS_H
#define MEMATTACH_THREADS_H

#include "inject/tracee/remote_call.h"
#include "inject/tracee/target.h"

enum thread_rank {
	THREAD_BLOCKED = 0,	/* in a call without a timeout: the least that can be noticed */
	THREAD_TIMED,		/* in a call with a timeout */
	THREAD_RUNNING,
	THREAD_UNUSABLE,	/* uninterruptible, ending, signal pending */
};
struct thread_candidate {
	pid_t tid;
	enum thread_rank rank;
	uint64_t sp, pc;	/* of a blocked one */
	bool own_files;		/* own_files_has() */
	bool transfer;		/* transfer_is_one(): to be stopped after all others only */
	bool starved;		/* SCHED_IDLE, SCHED_DEADLINE beside others: it may keep locks */
};

/* What dlopen and dlclose may take of the stack of the thread that calls them for us. */
#define THREADS_CALL_STACK (256ull * 1024)

/* Fills candidates, best first; the number, or -errno. */
int threads_rank(const struct target *target, struct thread_candidate *candidates, size_t room);
/*
 * Borrows the best thread that lets itself be borrowed: blocked ones first, then at a system
 * call, then in user mode; not stopped is a blocked one whose stack has no room, and, for
 * request->process_files, one with descriptors of its own. Tries three rounds, or for a second,
 * and on until the deadline. One in a transfer is waited for, as long as there is patience
 * (transfers.h). request->tid and request->allow are set here. 0 or -errno of the last try (-EBUSY
 * stopped, -ESRCH gone, -EAGAIN none was eligible, -ENOTSUP none has the room or the descriptors).
 */
int threads_borrow(const struct target *target, struct borrow_request *request,
		   struct borrow *ret) _must_check_;

#endif
