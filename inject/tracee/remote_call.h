/* SPDX-License-Identifier: MIT */
/*
 * remote_call.h - borrow one thread of the target, have it make calls, give it back.
 *
 * Between borrow_begin and borrow_end exactly one thread is stopped. Every
 * state in between is one from which the thread goes on correctly alone if we
 * are killed (docs/SAFETY.md has the argument).
 */
#ifndef MEMATTACH_REMOTE_CALL_H
#define MEMATTACH_REMOTE_CALL_H

#include <sys/user.h>

#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/target.h"
#include "inject/tracee/tracee.h"

/* How the thread was caught, which decides how it is given back. */
enum borrow_mode {
	BORROW_BLOCKED,       /* in an interruptible call that the kernel restarts by its result */
	BORROW_RESTART_BLOCK, /* in a call that is resumed by restart_syscall (timeouts) */
	BORROW_AT_SYSCALL,    /* running; caught as it entered a system call of its own */
	BORROW_USER,          /* running; caught in user mode outside any rseq section */
};

/* Which ways of catching are allowed; more needs more proof. */
enum borrow_allow {
	BORROW_ALLOW_BLOCKED = 1,
	BORROW_ALLOW_RESTART_BLOCK = 2,
	BORROW_ALLOW_AT_SYSCALL = 4,
	BORROW_ALLOW_USER = 8,
	BORROW_ALLOW_ANY = 15,
};

struct borrow_request {
	pid_t tid;
	unsigned int allow;		/* enum borrow_allow */
	uint64_t syscall_ret;		/* address of `syscall; ret` */
	uint64_t restorer;		/* address of __restore_rt */
	uint64_t stack_room;		/* bytes that must be mapped below the stack pointer */
	uint64_t deadline_ns;		/* for catching the thread */
	bool process_files;	/* the calls make or close descriptors: the process's only */
	uint64_t stopped_ns;		/* seized, in an event stop since then; 0: it runs */
	/* Expected state, for a thread proven safe before; NULL: any. */
	const struct user_regs_struct *expect;
	const void *expect_stack;	/* bytes from expect->rsp up */
	size_t expect_stack_bytes;
};

struct borrow {
	const struct target *target;	/* NULL: over */
	struct borrow_request request;
	enum borrow_mode mode;
	bool held;			/* target->held: was stopped before, stays stopped */
	uint64_t begin_ns, end_ns;	/* when it was stopped and let go; end_ns 0: it is held */
	struct user_regs_struct original;	/* as found; what borrow_end gives back */
	struct user_regs_struct entry;		/* at the stop from which calls are made */
	uint64_t signal_mask;
	struct frame_image frame;
	uint8_t xstate[TRACEE_XSTATE_MAX];
	size_t xstate_bytes;
	bool xstate_dirty;		/* a function ran: restore it */
	bool redirected;		/* registers were changed */
	/* At each exit of a call that a function makes: may change its result. 0, -errno. NULL */
	int (*see_exit)(struct borrow *borrow, void *seen_by);
	void *seen_by;
	bool at_entry;			/* stopped at a system call entry that can be substituted */
};

/*
 * Stops request->tid (or takes it over as it stands: stopped_ns) at a point where it
 * can make calls, with its signals blocked (but SIGSYS). 0; -EAGAIN (not now: a signal, another
 * state; the thread runs on untouched), -EPERM, -ESRCH, -EBUSY (stopped by job control),
 * -ENOTSUP (never on this thread: its stack, a critical section, an unknown call; descriptors of
 * its own, with process_files), -ETIME, -ESTALE (not in the expected state).
 */
int borrow_begin(const struct target *target, const struct borrow_request *request,
		 struct borrow *ret) _must_check_;
/*
 * One system call; *ret_result is what the kernel returned (>= 0 or -errno). On
 * an error of its own (here and in borrow_function) the thread has been given
 * back already and the borrow is over.
 */
int borrow_syscall(struct borrow *borrow, long number, const uint64_t arguments[6],
		   int64_t *ret_result) _must_check_;
/* One system call whose failure is an error, too; ret may be NULL. */
int borrow_call(struct borrow *borrow, long number, const uint64_t arguments[6], uint64_t *ret)
	_must_check_;
/*
 * A child of the target, made by clone(flags | no exit signal) on the borrowed thread. It is our
 * tracee *ret_child and never runs: it stops before its first instruction (still to be waited
 * for). Should it be let go by our death, its stack makes it call exit_group(status) at
 * once. *ret_remote: its id as the target sees it. *ret_child is 0 if there is none; else
 * it must be killed and reaped, also after an error. 0, or -errno (clone's own, too:
 * -ENOMEM; its EAGAIN, no room for a process, is -EUSERS).
 */
int borrow_clone(struct borrow *borrow, uint64_t flags, int status, pid_t *ret_child,
		 pid_t *ret_remote) _must_check_;
/*
 * One function call with up to three arguments. Its result can't be seen (the
 * thread returns into the signal frame's restorer); its effects can. -ETIME: it
 * did not return within deadline_ns; then the thread was let go and will finish
 * and restore itself, and borrow_end must not be called.
 */
int borrow_function(struct borrow *borrow, uint64_t function, const uint64_t arguments[3],
		    uint64_t deadline_ns) _must_check_;
/* The signals that it blocks in a function until it has restored itself, as /proc shows. */
uint64_t borrow_mask(const struct borrow *borrow);
/* True until the thread was given back, by borrow_end or after an error. */
static inline bool borrow_held(const struct borrow *borrow) { return borrow->target != NULL; }
/* Copies bytes (at most FRAME_SCRATCH_BYTES - 16) where the calls can read them; their address. */
int borrow_put(struct borrow *borrow, const void *data, size_t bytes, uint64_t *ret_address)
	_must_check_;
/* Gives the thread back as it was. 0 or -errno. */
int borrow_end(struct borrow *borrow);
/* How long it was held, until now or until it was given back, however that came about. */
uint64_t borrow_held_us(const struct borrow *borrow);

#endif
