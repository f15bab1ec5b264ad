/* SPDX-License-Identifier: MIT */
/*
 * launch.c - starting a program with its first thread held.
 *
 * After exec it stands before the dynamic loader's first instruction, or, static, at its
 * entry point. It runs to the loader's notification by a breakpoint.
 * Rejected: stepping (a start-up relocates millions of instructions' worth),
 * stopping at system calls (the first constructor may allocate before it makes one).
 */
#include "inject/tracee/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/tracee/breakpoint.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/tracee.h"

#define START_LIMIT_NS 30000000000ull

/* Lets it go on as without us: with its signal, and stopped when job control stopped it. */
static int go_on(pid_t tid, const struct tracee_stop *stop, bool trap_is_ours)
{
	int signal = stop->kind == TRACEE_SIGNAL ? stop->signal : 0;

	if (stop->kind == TRACEE_GROUP_STOP)
		return tracee_listen(tid);
	return tracee_continue(tid, trap_is_ours && signal == SIGTRAP ? 0 : signal);
}

/* Waits for the exec; signals that come before it are delivered. */
static int wait_for_exec(pid_t pid)
{
	uint64_t end = tracee_now_ns() + START_LIMIT_NS;
	struct tracee_stop stop;

	for (;;) {
		int error = tracee_wait(pid, end, &stop);

		if (error || stop.kind == TRACEE_EXEC)
			return error;
		error = go_on(pid, &stop, false);
		if (error)
			return error;
	}
}

/* Its exec has the kernel's last touch only now: until then the old program's rseq area is told. */
static int finish_exec(pid_t pid)
{
	uint64_t end = tracee_now_ns() + START_LIMIT_NS;
	struct tracee_stop stop = { .kind = TRACEE_EXEC };
	int error = 0;

	while (!error && stop.kind != TRACEE_SYSCALL_EXIT) {
		int signal = stop.kind == TRACEE_SIGNAL ? stop.signal : 0;

		error = stop.kind == TRACEE_GROUP_STOP ? tracee_listen(pid) :
							 tracee_pass_to_syscall(pid, signal);
		if (!error)
			error = tracee_wait(pid, end, &stop);
	}
	return error;
}

int launch_hold(pid_t pid, int gate, struct target *ret)
{
	struct pidref ref = PIDREF_NONE;
	int error = tracee_seize_at_exec(pid);

	if (!error && write(gate, "", 1) != 1)
		error = -errno;
	if (!error)
		error = wait_for_exec(pid);
	if (!error)
		error = finish_exec(pid);
	if (!error)
		error = pidref_open(pid, &ref);
	if (!error)
		error = target_open(&ref, ret);
	if (error) {
		pidref_done(&ref);
		return error;
	}
	ret->owed = calloc(1, sizeof(*ret->owed));
	if (!ret->owed) {
		target_done(ret);
		return -ENOMEM;
	}
	ret->held = pid;
	return 0;
}

/* Nothing can be set in a thread that runs, and it can't be let go. */
static int stop_running(pid_t tid)
{
	struct tracee_stop stop;
	int error = tracee_interrupt(tid);

	return error ? error : tracee_wait(tid, tracee_now_ns() + START_LIMIT_NS, &stop);
}

int launch_run_to(struct target *target, uint64_t address)
{
	uint64_t end = tracee_now_ns() + START_LIMIT_NS;
	struct tracee_stop stop = { .kind = TRACEE_EXEC };
	struct breakpoint breakpoint;
	int error, clear, hit = 0;

	if (!target->held)
		return -EINVAL;
	error = breakpoint_insert(target, address, !breakpoint_hardware_works(), end, &breakpoint);
	/* another signal may come where it stands already, which is where it stood the last time */
	while (!error && !hit) {
		error = go_on(target->held, &stop, true);
		if (!error)
			error = tracee_wait(target->held, end, &stop);
		if (!error)
			hit = breakpoint_hit(target, &breakpoint, &stop);
		if (hit < 0)
			error = hit;
	}
	if (error == -ETIME && stop_running(target->held) == -ESRCH)
		error = -ESRCH;
	clear = error == -ESRCH ? 0 : breakpoint_remove(target, &breakpoint);
	return error ? error : clear;
}

static uint64_t bit_of(int signal)
{
	return 1ull << (signal - 1);
}

static uint64_t stopping(void)
{
	return bit_of(SIGSTOP) | bit_of(SIGTSTP) | bit_of(SIGTTIN) | bit_of(SIGTTOU);
}

void launch_owe(const struct target *target, int signal)
{
	if (signal <= 0 || signal > 64)
		return;
	if (signal == SIGCONT)
		*target->owed &= ~stopping();
	else if (bit_of(signal) & stopping())
		*target->owed &= ~bit_of(SIGCONT);
	*target->owed |= bit_of(signal);
}

/* A SIGCONT that is pending came after every stop that was taken, which would drop it. */
static void forget_what_was_continued(const struct target *target)
{
	struct proc_thread_status status;

	if (proc_read_thread_status(target->ref.pid, target->held, &status) == 0 &&
	    ((status.sig_pending | status.shared_pending) & bit_of(SIGCONT)))
		*target->owed &= ~stopping();
}

/* They stay pending until it runs; what came with them (siginfo) is ours now. */
static void give_what_is_owed(struct target *target)
{
	forget_what_was_continued(target);
	for (int signal = 1; signal <= 64; signal++)
		if (*target->owed & bit_of(signal))
			(void)syscall(SYS_tgkill, target->ref.pid, target->held, signal);
	*target->owed = 0;
	target->held = 0;
}

int launch_go_on(struct target *target)
{
	pid_t tid = target->held;

	give_what_is_owed(target);
	return tracee_continue(tid, 0);
}

int launch_release(struct target *target)
{
	pid_t tid = target->held;

	if (!tid)
		return 0;
	give_what_is_owed(target);
	return tracee_detach(tid, 0);
}
