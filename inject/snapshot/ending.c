/* SPDX-License-Identifier: MIT */
/*
 * ending.c - see ending.h.
 *
 * A thread runs (its tracer waits), stands at its end, or is gone. A thread that ends alone goes
 * on at once, and so do those that another thread's exec ends: it waits for them.
 *
 * A thread that stands at its end is not safe there: when another one ends the process, the kernel
 * kills it out of its stop. Of a leader nobody is told that until all others have ended, too.
 *
 * Rejected: stopping at each system call for exit_group (a stop for every call, and a fatal signal
 * makes none), a hook on _exit (the same, and libc has several), a copy by clone at the end (a
 * thread that ends makes no calls). Never for a process that somebody else has started: as long as
 * it is traced no debugger can attach.
 */
#include "inject/snapshot/ending.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/launch.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"

#define RELEASE_LIMIT_NS 2000000000ull
#define WHOLE_LIMIT_NS   1000000000ull /* a thread that hangs in the kernel can't be waited for */
enum { PARTLY_MS = 5 };

struct guarded {
	pid_t tid;
	bool held;                         /* it stands at its end, */
	bool past;                         /* or is a leader that was killed there */
	bool foreign;                      /* no thread of the target: let go at its first stop */
	struct user_regs_struct registers; /* if held */
};
struct ending {
	pid_t pid;
	int events;
	struct guarded *thread;
	size_t count, room;
	uint64_t first_ns; /* when the first of them came to its end; 0: none has */
};

static int ending_add(struct ending *e, pid_t tid)
{
	size_t room = e->room ? e->room * 2 : 16;
	struct guarded *grown = e->thread;

	if (e->count == e->room) {
		grown = reallocarray(e->thread, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		e->thread = grown;
		e->room = room;
	}
	e->thread[e->count++] = (struct guarded){ .tid = tid };
	return 0;
}

static int open_events(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void ending_free(struct ending *e)
{
	cleanup_fd(&e->events);
	free(e->thread);
	free(e);
}

int ending_guard(struct target *target, struct ending **ret)
{
	struct ending *e = calloc(1, sizeof(*e));
	int error;

	if (!e)
		return -ENOMEM;
	e->pid = target->ref.pid;
	e->events = open_events();
	error = e->events < 0 ? -errno : ending_add(e, target->held);
	if (!error)
		error = tracee_guard_end(target->held);
	if (!error)
		error = launch_go_on(target);
	if (error)
		ending_free(e);
	else
		*ret = e;
	return error;
}

int ending_events(const struct ending *e)
{
	return e->events;
}

/* Those that do not run any more. */
static size_t ended_count(const struct ending *e)
{
	size_t ended = 0;

	for (size_t i = 0; i < e->count; i++)
		ended += e->thread[i].held || e->thread[i].past;
	return ended;
}

int ending_left_ms(const struct ending *e)
{
	return e->first_ns && ended_count(e) < e->count ? PARTLY_MS : -1;
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	struct proc_thread_status status;

	return proc_read_thread_status(pid, tid, &status) == 0;
}

/* A thread that was made, or a process without an exit signal, which is none of ours. */
static void on_child(struct ending *e, pid_t parent)
{
	pid_t child = 0;

	if (tracee_get_child(parent, &child) || child <= 0)
		return;
	if (ending_add(e, child))
		abandon_tracee(child);
	else
		e->thread[e->count - 1].foreign = !is_thread_of(e->pid, child);
}

/* By its own wish, while others go on. */
static bool ends_alone(const struct ending *e, const struct user_regs_struct *registers)
{
	return registers->orig_rax == SYS_exit && e->count > ended_count(e) + 1;
}

/* true: it was let go for good. */
static bool on_end(struct ending *e, size_t i)
{
	struct guarded *t = &e->thread[i];

	if (tracee_get_registers(t->tid, &t->registers) == 0 && !ends_alone(e, &t->registers)) {
		t->held = true;
		e->first_ns = e->first_ns ? e->first_ns : tracee_now_ns();
		return false;
	}
	(void)eintr_detach(t->tid, 0);
	return true;
}

static int go_on(pid_t tid, const struct tracee_stop *stop)
{
	struct user_regs_struct registers;

	if (stop->kind == TRACEE_GROUP_STOP)
		return tracee_listen(tid);
	/* a signal that the program ignores comes here all the same, and has ended its wait */
	if ((stop->kind == TRACEE_SIGNAL || stop->kind == TRACEE_EVENT_STOP) &&
	    tracee_get_registers(tid, &registers) == 0)
		(void)!eintr_hide(tid, &registers);
	return tracee_continue(tid, stop->kind == TRACEE_SIGNAL ? stop->signal : 0);
}

/* Serves one stop. true: the thread is no longer traced. */
static bool serve(struct ending *e, size_t i, const struct tracee_stop *stop)
{
	pid_t tid = e->thread[i].tid;

	if (e->thread[i].foreign) {
		(void)eintr_release(tid, stop);
		return true;
	}
	if (stop->kind == TRACEE_END)
		return on_end(e, i);
	if (stop->kind == TRACEE_CHILD)
		on_child(e, tid);
	(void)go_on(tid, stop);
	return false;
}

/* All that it has to tell by now. true: it is gone, or let go. */
static bool turn_thread(struct ending *e, size_t i)
{
	struct tracee_stop stop;
	bool over = false;
	int error = 0;

	while (!over && !error && !e->thread[i].held) {
		error = tracee_wait(e->thread[i].tid, 0, &stop);
		if (!error)
			over = serve(e, i, &stop);
	}
	return over || error == -ESRCH;
}

static void find_past_leader(struct ending *e)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->thread[i].tid == e->pid && !e->thread[i].held)
			e->thread[i].past = proc_runs_no_code(e->pid, e->pid);
}

static bool is_in_exec(pid_t pid, pid_t tid)
{
	struct proc_thread_syscall call;

	return proc_read_thread_syscall(pid, tid, &call) == 0 && !call.running &&
	       (call.number == SYS_execve || call.number == SYS_execveat);
}

/* Some stand at their end and some do not: are those on their way there, or why not? */
static void look_at_rest(struct ending *e)
{
	bool late = tracee_now_ns() - e->first_ns > WHOLE_LIMIT_NS;
	bool exec = false;

	for (size_t i = 0; !exec && i < e->count; i++)
		exec = !e->thread[i].held && is_in_exec(e->pid, e->thread[i].tid);
	if (!exec && !late)
		return;
	for (size_t i = 0; i < e->count; i++) {
		if (e->thread[i].held)
			(void)!tracee_continue(e->thread[i].tid, 0);
		e->thread[i].held = false;
	}
	e->first_ns = 0;
}

void ending_turn(struct ending *e)
{
	struct signalfd_siginfo info;

	while (read(e->events, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	for (size_t i = 0; i < e->count;) {
		if (turn_thread(e, i))
			e->thread[i] = e->thread[--e->count];
		else
			i++;
	}
	if (ending_left_ms(e) >= 0)
		find_past_leader(e);
	if (ending_left_ms(e) >= 0)
		look_at_rest(e);
}

bool ending_is_held(const struct ending *e)
{
	struct user_regs_struct registers;
	size_t held = 0;

	for (size_t i = 0; i < e->count; i++) {
		if (e->thread[i].past)
			continue;
		if (!e->thread[i].held || tracee_get_registers(e->thread[i].tid, &registers))
			return false;
		held++;
	}
	return held > 0;
}

int ending_picture(const struct ending *e, struct freeze *ret)
{
	struct stop_thread *thread = calloc(e->count, sizeof(*thread));
	size_t count = 0;

	if (!thread)
		return -ENOMEM;
	for (size_t i = 0; i < e->count; i++)
		if (e->thread[i].held)
			thread[count++] = (struct stop_thread){
				.tid = e->thread[i].tid, .registers = e->thread[i].registers,
			};
	return freeze_standing(thread, count, ret);
}

/* From wherever it is. */
static void release(struct ending *e, size_t i)
{
	struct tracee_stop stop = { .kind = TRACEE_END };
	pid_t tid = e->thread[i].tid;
	int error = 0;

	if (!e->thread[i].held) {
		error = tracee_interrupt(tid);
		if (!error)
			error = tracee_wait(tid, tracee_now_ns() + RELEASE_LIMIT_NS, &stop);
	}
	if (!error && stop.kind == TRACEE_CHILD)
		on_child(e, tid);
	if (!error)
		(void)eintr_release(tid, &stop);
	else
		abandon_tracee(tid);
}

void ending_release(struct ending *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->count; i++)
		release(e, i);
	(void)abandon_release();
	ending_free(e);
}
