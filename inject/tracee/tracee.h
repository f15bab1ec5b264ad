/* SPDX-License-Identifier: MIT */
/*
 * tracee.h - one traced thread: the only door to ptrace in the whole project.
 *
 * Never PTRACE_ATTACH, and never PTRACE_O_EXITKILL on a thread of the target: if we die, the kernel
 * detaches and the thread runs on from whatever registers it has at that moment.
 */
#ifndef MEMATTACH_TRACEE_H
#define MEMATTACH_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "src/base/cleanup.h"

#define TRACEE_XSTATE_MAX 16384

enum tracee_stop_kind {
	TRACEE_EVENT_STOP,	/* PTRACE_INTERRUPT took effect */
	TRACEE_GROUP_STOP,	/* the target was stopped by job control; signal says by which */
	TRACEE_SYSCALL_ENTRY,
	TRACEE_SYSCALL_EXIT,
	TRACEE_EXEC,		/* a new program is in place, nothing of it has run */
	TRACEE_CHILD,		/* it made a child, which is our tracee, too */
	TRACEE_END,		/* tracee_guard_end: it ends, and has its memory still */
	TRACEE_SIGNAL,		/* a signal is about to be delivered: pass it on */
};
struct tracee_stop {
	enum tracee_stop_kind kind;
	int signal;
};

/* Blocks SIGCHLD so that tracee_wait can sleep for it. Once per process, before any other call. */
int tracee_init(void) _must_check_;
/* Begins tracing without stopping. 0, -ESRCH, -EPERM (also: of a worker of the kernel). */
int tracee_seize(pid_t tid) _must_check_;
/* The same for a program about to be started: its exec will stop it. */
int tracee_seize_at_exec(pid_t tid) _must_check_;
/* Asks for an event stop. 0 or -ESRCH. */
int tracee_interrupt(pid_t tid) _must_check_;
/* Waits until deadline_ns (CLOCK_MONOTONIC). 0, -ETIME (still running), -ESRCH (it ended). */
int tracee_wait(pid_t tid, uint64_t deadline_ns, struct tracee_stop *ret) _must_check_;
/* Sleeps until some tracee may have stopped; 0, or -ETIME at deadline_ns. */
int tracee_wait_any(uint64_t deadline_ns) _must_check_;
/* Lets it run to the next system call stop. */
int tracee_run_to_syscall(pid_t tid) _must_check_;
/* The same, delivering signal (0: none). */
int tracee_pass_to_syscall(pid_t tid, int signal) _must_check_;
/* Lets it run, delivering signal (0: none). */
int tracee_continue(pid_t tid, int signal) _must_check_;
/* Lets it run for one instruction, delivering signal (0: none); it stops with SIGTRAP then. */
int tracee_step(pid_t tid, int signal) _must_check_;
/* In a group stop: leaves it stopped, and reports when SIGCONT lets it go (TRACEE_EVENT_STOP). */
int tracee_listen(pid_t tid) _must_check_;
/* Ends tracing and lets it run, delivering signal (0: none). -ESRCH when it is gone. */
int tracee_detach(pid_t tid, int signal);

/* In a stop: from now on children that it makes become our tracees and stop at once; or no more. */
int tracee_follow_children(pid_t tid, bool follow) _must_check_;
/*
 * In a stop: from now on it stops where the kernel ends it (TRACEE_END), and so do the threads that
 * it makes, which become our tracees and stop at once.
 */
int tracee_guard_end(pid_t tid) _must_check_;
/* At TRACEE_CHILD: the child, as we see it. */
int tracee_get_child(pid_t tid, pid_t *ret) _must_check_;
/* In a stop: it dies with us. Never for a thread of a target, only for a child that we made. */
int tracee_die_with_us(pid_t child) _must_check_;
/*
 * Ends a child that we made, as its tracer: kill() would ask whether its user is ours. In any state
 * since Linux 5.19; before, an event stop only runs on, so call it again at each stop until it has
 * ended. 0, -ESRCH (it has ended, or is not ours).
 */
int tracee_kill(pid_t child) _must_check_;

/* In a stop: one word of its memory, in read-only text, too. */
int tracee_write_word(pid_t tid, uint64_t address, uint64_t word) _must_check_;
int tracee_get_registers(pid_t tid, struct user_regs_struct *ret) _must_check_;
/* The commit point of every redirection: one system call, all or nothing. */
int tracee_set_registers(pid_t tid, const struct user_regs_struct *registers) _must_check_;
/* Full extended state, *bytes in: room, out: used. */
int tracee_get_xstate(pid_t tid, void *buffer, size_t *bytes) _must_check_;
int tracee_set_xstate(pid_t tid, const void *buffer, size_t bytes) _must_check_;
int tracee_get_signal_mask(pid_t tid, uint64_t *ret) _must_check_;
/* Only ever used to open a mask again, never to close one (see remote_call.c). */
int tracee_set_signal_mask(pid_t tid, uint64_t mask) _must_check_;
/*
 * Hardware breakpoint: the thread stops with SIGTRAP before it executes address;
 * 0: none. It outlives us: a thread whose breakpoint is set when we are killed
 * dies of it, so only a program that we are starting ourselves ever has one.
 */
int tracee_set_breakpoint(pid_t tid, uint64_t address) _must_check_;
/* rseq area address (0: none registered); -EOPNOTSUPP where the kernel can't tell. */
int tracee_get_rseq(pid_t tid, uint64_t *ret_area) _must_check_;
/*
 * In a stop: may a system call of its end in a SIGSYS in place of the kernel, for the program to
 * answer it (Linux's syscall user dispatch)? False, too, where the kernel can't tell (before 6.4).
 * Not as long as the byte at *ret_selector (0: there is none) is SYSCALL_DISPATCH_FILTER_ALLOW.
 */
bool tracee_dispatches_calls(pid_t tid, uint64_t *ret_selector);
/* The same for who has to know it: 1, 0, -errno (-EIO: before 6.4). */
int tracee_may_dispatch(pid_t tid);
/* At TRACEE_SIGNAL, a SIGSYS: the address after the call that it is for; 0: it can't be told. */
uint64_t tracee_get_refused_call(pid_t tid);
/* Number of instructions of seccomp filter number index, -ENOENT past the last; filter may be NULL.
 */
int tracee_get_seccomp_filter(pid_t tid, unsigned int index, void *filter);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t tracee_now_ns(void);

#endif
