/* SPDX-License-Identifier: MIT */
/*
 * remote_call.c - calls on a borrowed thread, with a signal frame as insurance.
 *
 * The thread is brought to a system call entry stop: a blocked one by letting
 * it restart its call, a running one by waiting for its next call, or by
 * pointing it at a `syscall` instruction. There its call is replaced by
 * rt_sigprocmask(block, borrow_masks.h), with the stack pointer on a signal frame
 * below its red zone and the instruction pointer on a `ret`: one PTRACE_SETREGS
 * commits all of it. From then on, whenever we die, the thread finishes the
 * call it is in, returns into __restore_rt, and the frame gives it back its
 * registers, extended state and signal mask. If we live, we put back the
 * registers that it was found with, which is exact where the frame can only
 * come close: a call that is restarted by its result sees a signal that
 * arrived meanwhile, and restart_syscall keeps its remaining time.
 *
 * Rejected: a poked `syscall; int3` (kills the target when we die),
 * PTRACE_SETSIGMASK to block (leaves the thread deaf when we die before the
 * redirection; here it only ever opens the mask again, with the frame in place).
 */
#include "inject/tracee/remote_call.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/borrow_checks.h"
#include "inject/tracee/borrow_masks.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/frame_place.h"
#include "inject/tracee/launch.h"
#include "inject/tracee/own_files.h"
#include "inject/tracee/priority.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/rseq.h"
#include "inject/tracee/steps.h"
#include "inject/tracee/stood.h"

#define CLONE_LIMIT_NS	10000000000ull	/* the kernel copies page tables: 15 us a megabyte */
#define STOP_LIMIT_NS	2000000000ull	/* until it stops it runs freely: it may wait for a CPU */

static const uint64_t no_arguments[6];

/* How the thread's registers must be for it to run on alone from its entry stop. */
static struct user_regs_struct restart_form(const struct borrow *b)
{
	struct user_regs_struct r = b->entry;

	if (b->mode == BORROW_USER)
		return b->original;
	r.rip -= REGS_SYSCALL_BYTES;
	r.rax = r.orig_rax;
	r.orig_rax = (unsigned long long)-1;
	return r;
}

/* Registers for a call: from the frame, through the gadget or at a substitutable entry stop. */
static struct user_regs_struct call_registers(const struct borrow *b, long number,
					      const uint64_t arguments[6])
{
	struct user_regs_struct r = b->entry;

	regs_set_syscall(&r, number, arguments);
	r.rsp = b->frame.address;
	r.rip = b->request.syscall_ret;
	r.orig_rax = (unsigned long long)-1;
	if (b->at_entry) {
		r.rip += REGS_SYSCALL_BYTES;
		r.orig_rax = (unsigned long long)number;
		r.rax = (unsigned long long)-ENOSYS;
	}
	return r;
}

/*
 * A SIGSYS for our own call, which the program knows nothing of: by its dispatch of system calls,
 * where the kernel did not tell of it before, or a filter that came a moment ago.
 */
static bool is_for_our_call(const struct borrow *b, const struct tracee_stop *stop)
{
	return stop->kind == TRACEE_SIGNAL && stop->signal == SIGSYS && b->redirected &&
	       tracee_get_refused_call(b->request.tid) ==
		       b->request.syscall_ret + REGS_SYSCALL_BYTES;
}

/* A call restarted by its result must pass the kernel's signal code with its original registers. */
static int park_in_signal_code(struct borrow *b, int *signal)
{
	struct tracee_stop stop;
	int error = tracee_interrupt(b->request.tid);

	if (!error)
		error = tracee_continue(b->request.tid, 0);
	if (!error)
		error = tracee_wait(b->request.tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	if (!error && stop.kind == TRACEE_SIGNAL && !is_for_our_call(b, &stop))
		*signal = stop.signal;
	return error;
}

/* A thread that is held anyway stays stopped; a signal that was taken from it is owed to it. */
static int let_go(const struct borrow *b, int signal)
{
	if (!b->held)
		return eintr_detach(b->request.tid, signal);
	launch_owe(b->target, signal);
	return 0;
}

/* The thread is no longer ours: every later call on this borrow fails. */
static int over(struct borrow *b, int result)
{
	if (b->target) {
		b->end_ns = tracee_now_ns();	/* without priority we may have to wait, not it */
		priority_restore();
	}
	b->target = NULL;
	return result;
}

/*
 * The only way out of a borrowed thread: original state back, let go. in_signal_code: the
 * current stop is an event or signal stop, not a system call stop. The mask is opened while
 * the frame is still in place, so that dying between two steps leaves nothing blocked.
 */
static int give_back(struct borrow *b, int signal, bool in_signal_code)
{
	pid_t tid = b->request.tid;
	struct user_regs_struct r = b->mode == BORROW_BLOCKED ? b->original : restart_form(b);
	int error = 0, first;

	if (!b->redirected)
		return over(b, let_go(b, signal));
	if (b->at_entry) {
		/* skip the pending call; alone, the thread would `ret` into the frame */
		struct user_regs_struct skip = call_registers(b, -1, no_arguments);

		error = tracee_set_registers(tid, &skip);
	}
	if (b->xstate_dirty) {
		first = tracee_set_xstate(tid, b->xstate, b->xstate_bytes);
		error = error ? error : first;
	}
	first = tracee_set_signal_mask(tid, b->signal_mask);
	error = error ? error : first;
	if (b->mode == BORROW_BLOCKED && !in_signal_code) {
		first = park_in_signal_code(b, &signal);
		error = error ? error : first;
	}
	first = tracee_set_registers(tid, &r);
	error = error ? error : first;
	first = let_go(b, signal);
	return over(b, error ? error : first);
}

/* Releases the thread after `stop` turned out not to be what was hoped for. */
static int back_out(struct borrow *b, const struct tracee_stop *stop, int reason)
{
	bool ours = is_for_our_call(b, stop);
	int signal = stop->kind == TRACEE_SIGNAL && !ours ? stop->signal : 0;
	bool in_signal_code = stop->kind == TRACEE_SIGNAL || stop->kind == TRACEE_EVENT_STOP ||
			      stop->kind == TRACEE_GROUP_STOP;

	if (!b->redirected && !b->held) {
		(void)eintr_release(b->request.tid, stop);
		return over(b, reason);
	}
	(void)give_back(b, signal, in_signal_code);
	return ours ? -ENOTSUP : reason;
}

/*
 * What a call of ours goes on after. The kernel tells every seized thread of a SIGCONT by an event
 * stop, wherever it is; and a thread that we hold anyway gets its signals when it is let go. So it
 * does what job control has stopped it by before: a tracee may run on from such a stop.
 */
static bool is_in_passing(const struct borrow *b, const struct tracee_stop *stop)
{
	if (stop->kind == TRACEE_EVENT_STOP)
		return true;
	if (!b->held || (stop->kind != TRACEE_SIGNAL && stop->kind != TRACEE_GROUP_STOP))
		return false;
	launch_owe(b->target, stop->signal);
	return true;
}

/* Releases the thread where it stands, at a system call stop or one that no signal is owed at. */
static int give_up(struct borrow *b, int reason)
{
	static const struct tracee_stop at_syscall = { TRACEE_SYSCALL_EXIT, 0 };

	return back_out(b, &at_syscall, reason);
}

/* Runs to the next stop; anything but `wanted` gives the thread back. */
static int run_to(struct borrow *b, enum tracee_stop_kind wanted)
{
	uint64_t end = tracee_now_ns() + STOP_LIMIT_NS;
	struct tracee_stop stop = { TRACEE_SYSCALL_EXIT, 0 };
	bool at_entry = wanted == TRACEE_SYSCALL_EXIT;
	int error;

	do {
		error = tracee_run_to_syscall(b->request.tid);
		if (error) {	/* it stands where it stood */
			b->at_entry = b->at_entry || at_entry;
			return back_out(b, &stop, error);
		}
		at_entry = false;
		error = tracee_wait(b->request.tid, end, &stop);
	} while (!error && stop.kind != wanted && tracee_now_ns() < end &&
		 is_in_passing(b, &stop));
	if (error) {
		abandon_tracee(b->request.tid);	/* still running, or killed: to be reaped */
		return over(b, error);
	}
	if (stop.kind == wanted)
		return 0;
	return back_out(b, &stop, stop.kind == TRACEE_GROUP_STOP ? -EBUSY : -EAGAIN);
}

/* Sets mode from the registers at an event stop. */
static int classify_stop(struct borrow *b)
{
	int error = eintr_hide(b->request.tid, &b->original);

	b->mode = BORROW_USER;
	if (b->original.cs != REGS_USER_CS)
		return -ENOTSUP;
	if (eintr_was_waiting(&b->original))
		b->mode = -(long)b->original.rax == EINTR_RESTART_RESTARTBLOCK ?
				  BORROW_RESTART_BLOCK : BORROW_BLOCKED;
	return error;
}

/* Seizes and stops; notes since when it stands. */
static int stop_thread(struct borrow *b, struct tracee_stop *ret)
{
	pid_t tid = b->request.tid;
	struct stood stood;
	int error = tracee_seize(tid);

	if (error)
		return error;
	stood_ask(&stood, b->target->ref.pid, tid);
	error = tracee_interrupt(tid);
	if (!error)
		error = tracee_wait(tid, tracee_now_ns() + STOP_LIMIT_NS, ret);
	if (error)
		abandon_tracee(tid);
	else
		b->begin_ns = stood_since(&stood);
	return error;
}

/* Seizes, stops, classifies. On success the thread stands in an event stop. */
static int catch_thread(struct borrow *b)
{
	pid_t tid = b->request.tid;
	struct tracee_stop stop = { TRACEE_EVENT_STOP, 0 };
	int error;

	b->begin_ns = b->request.stopped_ns ? b->request.stopped_ns : tracee_now_ns();
	error = b->held || b->request.stopped_ns ? 0 : stop_thread(b, &stop);
	if (error)
		return error;
	if (stop.kind != TRACEE_EVENT_STOP)
		return back_out(b, &stop, stop.kind == TRACEE_GROUP_STOP ? -EBUSY : -EAGAIN);
	error = tracee_get_registers(tid, &b->original);
	if (!error)
		error = classify_stop(b);
	if (!error && !borrow_is_as_expected(b, &b->original))
		error = -ESTALE;
	return error ? back_out(b, &stop, error) : 0;
}

/* Waits for a running thread's next system call, at most half the time that is left. */
static int wait_for_own_syscall(struct borrow *b)
{
	pid_t tid = b->request.tid;
	uint64_t now = tracee_now_ns(), end = b->request.deadline_ns;
	struct tracee_stop stop = { TRACEE_EVENT_STOP, 0 };
	int error = tracee_run_to_syscall(tid);

	if (error)
		return back_out(b, &stop, error);
	end = now < end ? now + (end - now) / 2 : now;
	error = tracee_wait(tid, end, &stop);
	if (error == -ETIME) {
		error = tracee_interrupt(tid);
		if (!error)
			error = tracee_wait(tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	}
	if (error) {
		abandon_tracee(tid);
		return error;
	}
	b->begin_ns = tracee_now_ns();
	if (stop.kind == TRACEE_SYSCALL_ENTRY) {
		b->mode = BORROW_AT_SYSCALL;
		return 0;
	}
	if (stop.kind != TRACEE_EVENT_STOP)
		return back_out(b, &stop, stop.kind == TRACEE_GROUP_STOP ? -EBUSY : -EAGAIN);
	error = tracee_get_registers(tid, &b->original);
	if (!error)
		error = classify_stop(b);
	return error ? back_out(b, &stop, error) : 0;
}

/* Brings the thread to the stop from which calls are made, as far as that needs no redirection. */
static int reach_entry(struct borrow *b)
{
	static const struct tracee_stop event = { TRACEE_EVENT_STOP, 0 };
	unsigned int allow = b->request.allow;
	int error = 0;

	if (b->mode == BORROW_USER && (allow & BORROW_ALLOW_AT_SYSCALL))
		error = wait_for_own_syscall(b);
	if (error)
		return error;
	if (!(allow & (1u << b->mode)))
		return b->mode == BORROW_AT_SYSCALL ? give_up(b, -EAGAIN) :
						      back_out(b, &event, -EAGAIN);
	if (b->mode == BORROW_USER) {
		b->entry = b->original;
		error = rseq_allows_redirect(b->target, b->request.tid, b->original.rip);
		return error ? back_out(b, &event, error) : 0;
	}
	if (b->mode != BORROW_AT_SYSCALL)
		error = run_to(b, TRACEE_SYSCALL_ENTRY);
	if (error)
		return error;
	error = tracee_get_registers(b->request.tid, &b->entry);
	if (!error && !borrow_follows_syscall(b, b->entry.rip))
		error = -ENOTSUP;
	/* it ran on since it was first seen: this is where it stands, about to make its call */
	if (!error && b->mode == BORROW_AT_SYSCALL)
		b->original = restart_form(b);
	return error ? give_up(b, error) : 0;
}

/* From an exit or event stop, or a substitutable entry stop, to the entry of this call. */
static int enter_syscall(struct borrow *b, long number, const uint64_t arguments[6])
{
	struct user_regs_struct r = call_registers(b, step_call(number), arguments);
	int error = borrow_held(b) ? tracee_set_registers(b->request.tid, &r) : -ESRCH;

	if (error)
		return borrow_held(b) ? give_up(b, error) : error;
	b->redirected = true;
	if (!b->at_entry)
		error = run_to(b, TRACEE_SYSCALL_ENTRY);
	b->at_entry = false;
	return error;
}

static int result_of_syscall(struct borrow *b, int64_t *ret_result)
{
	struct user_regs_struct r;
	int error = tracee_get_registers(b->request.tid, &r);

	if (error)
		return give_up(b, error);
	*ret_result = (int64_t)r.rax;
	return 0;
}

int borrow_syscall(struct borrow *b, long number, const uint64_t arguments[6], int64_t *ret_result)
{
	int error = enter_syscall(b, number, arguments);

	if (!error)
		error = run_to(b, TRACEE_SYSCALL_EXIT);
	return error ? error : result_of_syscall(b, ret_result);
}

int borrow_call(struct borrow *b, long number, const uint64_t arguments[6], uint64_t *ret)
{
	int64_t result;
	int error = borrow_syscall(b, number, arguments, &result);

	if (error)
		return error;
	if (result < 0)
		return (int)result;
	if (ret)
		*ret = (uint64_t)result;
	return 0;
}

/* What a child that is let go does: exit_group(status), below everything of the borrowed thread. */
static int put_child_frame(struct borrow *b, int status, uint64_t *ret_stack)
{
	static struct frame_image frame;
	struct user_regs_struct end = b->entry;
	struct frame_input input = { .registers = &end, .below = b->frame.address,
				     .xstate = b->xstate, .xstate_bytes = b->xstate_bytes,
				     .signal_mask = ~0ull, .restorer = b->request.restorer };
	int error;

	end.rsp = b->frame.address;
	end.rip = b->request.syscall_ret;
	end.rax = SYS_exit_group;
	end.rdi = (unsigned long long)status;
	end.eflags &= ~(unsigned long long)REGS_TF_DF;
	error = frame_build(&input, &frame);
	if (!error)
		error = remote_write(b->target, frame.address, frame.data, frame.bytes);
	*ret_stack = frame.address;
	return error;
}

/* Can't be run on: at the call's entry it is skipped, in its middle the frame sees to the rest. */
static int stop_before_clone(struct borrow *b, bool made, int reason)
{
	if (made) {
		(void)eintr_detach(b->request.tid, 0);
		return over(b, reason);
	}
	b->at_entry = true;
	return give_up(b, reason);
}

/*
 * Through the call's own stops to its exit; a child that is made on the way is *ret_child. The
 * thread is given back at the exit at the earliest: what it had before in its registers would be
 * mixed with what the call returns, and be a call by the child's number.
 */
static int run_through_clone(struct borrow *b, pid_t *ret_child)
{
	struct tracee_stop stop = { TRACEE_SYSCALL_ENTRY, 0 };
	int error, unknown = 0;

	do {
		error = tracee_run_to_syscall(b->request.tid);
		if (error)
			return stop_before_clone(b, stop.kind == TRACEE_CHILD, error);
		error = tracee_wait(b->request.tid, tracee_now_ns() + CLONE_LIMIT_NS, &stop);
		if (error) {
			abandon_tracee(b->request.tid);
			return over(b, error);
		}
		if (stop.kind == TRACEE_CHILD)
			unknown = tracee_get_child(b->request.tid, ret_child);
	} while (stop.kind == TRACEE_CHILD);
	if (stop.kind != TRACEE_SYSCALL_EXIT)
		return back_out(b, &stop, -EAGAIN);
	return unknown ? give_up(b, unknown) : 0;
}

int borrow_clone(struct borrow *b, uint64_t flags, int status, pid_t *ret_child, pid_t *ret_remote)
{
	uint64_t arguments[6] = { flags, 0, 0, 0, 0, 0 };
	int64_t result = 0;
	int error = borrow_held(b) ? put_child_frame(b, status, &arguments[1]) : -ESRCH, undo;

	*ret_child = *ret_remote = 0;
	if (error)
		return error;
	error = tracee_follow_children(b->request.tid, true);
	if (!error)
		error = enter_syscall(b, SYS_clone, arguments);
	if (!error)
		error = run_through_clone(b, ret_child);
	if (!error)
		error = result_of_syscall(b, &result);
	undo = borrow_held(b) ? tracee_follow_children(b->request.tid, false) : 0;
	*ret_remote = result > 0 ? (pid_t)result : 0;
	if (error || undo)
		return error ? error : undo;
	if (result == -EAGAIN)	/* no room for a process; trying again is for what passes */
		return -EUSERS;
	return result > 0 ? 0 : (int)result;
}

uint64_t borrow_mask(const struct borrow *b)
{
	return borrow_mask_of_functions(b->signal_mask);
}

/* Writes the frame and blocks signals: the point after which the frame insures the thread. */
static int redirect(struct borrow *b, uint64_t below)
{
	struct user_regs_struct resume = restart_form(b);
	struct frame_input input = { .registers = &resume, .below = below, .xstate = b->xstate,
				     .restorer = b->request.restorer };
	uint64_t everything, mask[6] = { SIG_SETMASK, 0, 0, sizeof(everything), 0, 0 };
	int64_t result = 0;
	int error;

	b->xstate_bytes = sizeof(b->xstate);
	error = tracee_get_signal_mask(b->request.tid, &b->signal_mask);
	if (!error)
		error = tracee_get_xstate(b->request.tid, b->xstate, &b->xstate_bytes);
	everything = borrow_mask_of_calls(b->signal_mask);
	input.signal_mask = b->signal_mask;
	input.xstate_bytes = b->xstate_bytes;
	if (!error)
		error = frame_build(&input, &b->frame);
	if (!error)
		error = remote_write(b->target, b->frame.address, b->frame.data, b->frame.bytes);
	mask[1] = b->frame.scratch;
	if (!error)
		error = remote_write(b->target, mask[1], &everything, sizeof(everything));
	if (error)
		return b->mode == BORROW_USER ?
			back_out(b, &(struct tracee_stop){ TRACEE_EVENT_STOP, 0 }, error) :
			give_up(b, error);
	b->at_entry = b->mode != BORROW_USER;
	error = borrow_syscall(b, SYS_rt_sigprocmask, mask, &result);
	if (!error && result != 0)	/* > 0: a filter that traps, put back to be made again */
		error = give_up(b, result > 0 ? -ENOTSUP : (int)result);
	return error;
}

int borrow_begin(const struct target *target, const struct borrow_request *request,
		 struct borrow *ret)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(target->maps, &maps);
	uint64_t below;

	if (error && request->stopped_ns)
		(void)eintr_detach(request->tid, 0);
	if (error)
		return error;
	memset(ret, 0, sizeof(*ret));
	ret->target = target;
	ret->held = request->tid == target->held;
	ret->request = *request;
	priority_raise();
	error = catch_thread(ret);
	if (error)
		return over(ret, error);
	error = reach_entry(ret);
	if (error)
		return over(ret, error);
	below = frame_place_find(target, &maps, request->tid, &ret->entry, request->stack_room);
	if (!below || borrow_is_dispatched(ret) ||
	    (request->process_files &&
	     own_files_has(proc_live_thread(target->ref.pid), request->tid)))
		return ret->mode == BORROW_USER ?
			back_out(ret, &(struct tracee_stop){ TRACEE_EVENT_STOP, 0 }, -ENOTSUP) :
			give_up(ret, -ENOTSUP);
	error = redirect(ret, below);
	return error ? over(ret, error) : 0;
}

int borrow_put(struct borrow *b, const void *data, size_t bytes, uint64_t *ret_address)
{
	int error;

	if (!borrow_held(b))
		return -ESRCH;
	if (bytes > FRAME_SCRATCH_BYTES - 16)
		return -E2BIG;
	error = remote_write(b->target, b->frame.scratch + 16, data, bytes);
	if (!error)
		*ret_address = b->frame.scratch + 16;
	return error;
}

/* True at the entry of the rt_sigreturn by which the called function has returned. */
static bool function_returned(struct borrow *b)
{
	struct user_regs_struct r;

	return tracee_get_registers(b->request.tid, &r) == 0 && r.orig_rax == SYS_rt_sigreturn &&
	       r.rsp == b->frame.address + 8;
}

/* The function is still running: let it finish alone; the frame then restores the thread. */
static int leave_running(struct borrow *b)
{
	struct tracee_stop stop;
	int error = tracee_interrupt(b->request.tid);

	if (!error)
		error = tracee_wait(b->request.tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	if (error)
		abandon_tracee(b->request.tid);
	else
		(void)eintr_release(b->request.tid, &stop);
	return over(b, -ETIME);
}

static int open_to_faults(struct borrow *b)
{
	uint64_t mask = borrow_mask_of_functions(b->signal_mask);
	uint64_t arguments[6] = { SIG_SETMASK, b->frame.scratch, 0, sizeof(mask), 0, 0 };
	int64_t result = 0;
	int error = borrow_held(b) ? remote_write(b->target, arguments[1], &mask, sizeof(mask)) :
				     -ESRCH;

	if (!error)
		error = borrow_syscall(b, SYS_rt_sigprocmask, arguments, &result);
	return error ? error : (int)result;
}

/*
 * Can't be run on from *stop: what has not begun is not begun; else it must finish alone, and the
 * frame restores the thread then.
 */
static int leave_at(struct borrow *b, const struct tracee_stop *stop, int reason)
{
	if (stop->kind == TRACEE_SYSCALL_EXIT && !b->xstate_dirty)
		return give_up(b, reason);
	(void)eintr_detach(b->request.tid, stop->kind == TRACEE_SIGNAL ? stop->signal : 0);
	return over(b, -ETIME);
}

/*
 * To the next system call stop, or what is no system call stop and no fault for its handler. After
 * an error the borrow is over.
 */
static int run_function(struct borrow *b, uint64_t deadline_ns, struct tracee_stop *stop)
{
	int error;

	do {
		int signal = stop->kind == TRACEE_SIGNAL ? stop->signal : 0;

		error = tracee_pass_to_syscall(b->request.tid, signal);
		if (error)
			return leave_at(b, stop, error);
		b->xstate_dirty = true;
		error = tracee_wait(b->request.tid, deadline_ns, stop);
		if (error == -ETIME)
			return leave_running(b);
		if (error) {
			abandon_tracee(b->request.tid);	/* to be let go at its next stop */
			return over(b, error);
		}
	} while (stop->kind == TRACEE_SIGNAL && (SIGNAL_BIT(stop->signal) & SIGNALS_OF_FAULTS));
	return 0;
}

int borrow_function(struct borrow *b, uint64_t function, const uint64_t arguments[3],
		    uint64_t deadline_ns)
{
	struct user_regs_struct r = call_registers(b, 0, no_arguments);
	struct tracee_stop stop = { TRACEE_SYSCALL_EXIT, 0 };
	int error = open_to_faults(b);

	if (error)
		return error;
	r.rip = step_function(function, b->request.syscall_ret + REGS_SYSCALL_BYTES);
	r.rdi = arguments[0];
	r.rsi = arguments[1];
	r.rdx = arguments[2];
	error = borrow_held(b) ? tracee_set_registers(b->request.tid, &r) : -ESRCH;
	if (error)
		return borrow_held(b) ? give_up(b, error) : error;
	b->redirected = true;
	for (;;) {
		error = run_function(b, deadline_ns, &stop);
		if (error)
			return error;
		if (stop.kind == TRACEE_SYSCALL_ENTRY && function_returned(b))
			break;
		if (stop.kind == TRACEE_SYSCALL_EXIT && b->see_exit)
			error = b->see_exit(b, b->seen_by);
		if (error)
			return leave_at(b, &stop, error);
		if (b->held && is_in_passing(b, &stop))
			continue;
		if (stop.kind == TRACEE_SIGNAL || stop.kind == TRACEE_GROUP_STOP) {
			/* in the middle of the function, with its locks held: it must finish */
			(void)eintr_release(b->request.tid, &stop);
			return over(b, -ETIME);
		}
	}
	b->at_entry = true;
	return 0;
}

int borrow_end(struct borrow *b)
{
	return borrow_held(b) ? give_back(b, 0, false) : -ESRCH;
}

uint64_t borrow_held_us(const struct borrow *b)
{
	return ((b->end_ns ? b->end_ns : tracee_now_ns()) - b->begin_ns) / 1000;
}
