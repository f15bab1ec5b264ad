/* SPDX-License-Identifier: MIT */
/*
 * threads.c - candidates from /proc/PID/task/TID/{syscall,status}, no stop.
 *
 * A thread blocked in a call without a timeout notices a short stop least; one
 * with a timeout keeps its remaining time; a running one is caught at its next
 * system call or, failing that, in user mode. A thread with an unblocked signal
 * pending is about to run a handler and is left alone.
 */
#include "inject/tracee/threads.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/frame_place.h"
#include "inject/tracee/own_files.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/transfers.h"

enum { MAX_TRIED = 1024, PAUSE_NS = 2000000, ROUNDS = 3, LOOSE_ROUND = 2 };
#define CATCH_LIMIT_NS 100000000ull	/* for one thread */
#define ROUNDS_LIMIT_NS 1000000000ull	/* whatever the caller's deadline: so long is tried */

static bool has_timeout(long number)
{
	static const short timed[] = {
		SYS_poll,         SYS_select,          SYS_pselect6,        SYS_ppoll,
		SYS_nanosleep,    SYS_clock_nanosleep, SYS_epoll_wait,      SYS_epoll_pwait,
		SYS_futex,        SYS_rt_sigtimedwait, SYS_restart_syscall, SYS_semtimedop,
		SYS_io_getevents,
	};

	for (size_t i = 0; i < ARRAY_SIZE(timed); i++)
		if (timed[i] == number)
			return true;
	return false;
}

static struct thread_candidate rank_thread(pid_t pid, pid_t tid)
{
	struct thread_candidate c = { .tid = tid, .rank = THREAD_UNUSABLE };
	struct proc_thread_status status;
	struct proc_thread_syscall call;

	if (proc_read_thread_status(pid, tid, &status) || proc_read_thread_syscall(pid, tid, &call))
		return c;
	if ((status.sig_pending | status.shared_pending) & ~status.sig_blocked)
		return c;
	if ((status.state != 'S' && status.state != 'R') || proc_is_worker(pid, tid))
		return c;
	if (call.running || call.number < 0) {
		c.rank = THREAD_RUNNING;
		return c;
	}
	c.sp = call.sp;
	c.pc = call.pc;
	c.transfer = transfer_is_one(&call);
	c.rank = has_timeout(call.number) ? THREAD_TIMED : THREAD_BLOCKED;
	return c;
}

static int by_rank(const void *a, const void *b)
{
	const struct thread_candidate *x = a, *y = b;

	if (x->starved != y->starved && x->rank != THREAD_UNUSABLE && y->rank != THREAD_UNUSABLE)
		return x->starved - y->starved;
	if (x->transfer != y->transfer && x->rank != THREAD_UNUSABLE && y->rank != THREAD_UNUSABLE)
		return x->transfer - y->transfer;
	return x->rank != y->rank ? (int)x->rank - (int)y->rank : y->tid - x->tid;
}

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

static bool is_starved(pid_t tid)
{
	int policy = sched_getscheduler(tid);

	if (policy < 0)
		return false;
	policy &= ~SCHED_RESET_ON_FORK;
	return policy == SCHED_IDLE || policy == SCHED_DEADLINE;
}

/*
 * Who gets a processor only when nobody else wants it, or never for longer than it has asked for,
 * may keep a lock that dlopen takes for seconds, and the others wait for it (nor may the latter
 * make a child). Where all are like that there is no other.
 */
static void mark_starved(struct thread_candidate *candidates, int count)
{
	int starved = 0;

	for (int i = 0; i < count; i++) {
		candidates[i].starved = is_starved(candidates[i].tid);
		starved += candidates[i].starved;
	}
	for (int i = 0; i < count && starved == count; i++)
		candidates[i].starved = false;
}

int threads_rank(const struct target *target, struct thread_candidate *candidates, size_t room)
{
	_cleanup_free_ pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids), kept = 0;
	pid_t lead = proc_live_thread(target->ref.pid);

	for (int i = 0; i < count && (size_t)kept < room; i++) {
		candidates[kept] = rank_thread(target->ref.pid, tids[i]);
		candidates[kept++].own_files = own_files_has(lead, tids[i]);
	}
	mark_starved(candidates, kept);
	if (kept > 0)
		qsort(candidates, (size_t)kept, sizeof(*candidates), by_rank);
	return count < 0 ? count : kept;
}

/* The strictest way that fits the candidate; the last attempts allow everything. */
static unsigned int allowed_for(enum thread_rank rank, unsigned int round)
{
	if (round >= LOOSE_ROUND || rank == THREAD_RUNNING)
		return BORROW_ALLOW_ANY;
	return BORROW_ALLOW_BLOCKED | BORROW_ALLOW_RESTART_BLOCK;
}

/* Is it worth a stop? Where a blocked one's stack ends is known without. */
static bool may_do(const struct target *target, const struct procmaps *maps,
		   const struct borrow_request *request, const struct thread_candidate *c)
{
	if (request->process_files && c->own_files)
		return false;
	return c->rank == THREAD_RUNNING ||
	       frame_place_may_be(target, maps, c->tid, c->sp, request->stack_room);
}

/*
 * The candidates of one round, best first, as long as there is time. 0 or -errno of the last; a
 * positive number if nothing but what would end a transfer is left.
 */
static int borrow_one_of(const struct target *target, const struct thread_candidate *candidate,
			 int count, unsigned int round, uint64_t latest_ns,
			 struct borrow_request *request, struct borrow *ret)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(target->maps, &maps), tried = 0, one;

	if (error)
		return error;
	error = -EAGAIN;
	for (int i = 0; i < count && candidate[i].rank != THREAD_UNUSABLE; i++) {
		if (!may_do(target, &maps, request, &candidate[i])) {
			error = tried ? error : -ENOTSUP;
			continue;
		}
		if (candidate[i].transfer && transfers_have_patience())
			return 1;
		tried++;
		request->tid = candidate[i].tid;
		request->allow = allowed_for(candidate[i].rank, round);
		request->deadline_ns = tracee_now_ns() + CATCH_LIMIT_NS;
		one = borrow_begin(target, request, ret);
		/* a thread that may do it in a moment outweighs those that never will */
		error = one == -ENOTSUP && tried > 1 && error == -EAGAIN ? error : one;
		if (error == 0 || error == -EBUSY || tracee_now_ns() >= latest_ns)
			break;
	}
	return error;
}

int threads_borrow(const struct target *target, struct borrow_request *request, struct borrow *ret)
{
	static struct thread_candidate candidate[MAX_TRIED];
	uint64_t end = request->deadline_ns, latest = tracee_now_ns() + ROUNDS_LIMIT_NS;
	unsigned int round = 0;
	int error = -EAGAIN;

	if (target->held) {
		request->tid = target->held;
		request->allow = BORROW_ALLOW_USER;
		return borrow_begin(target, request, ret);
	}
	latest = end > latest ? end : latest;
	while (tracee_now_ns() < (round < ROUNDS ? latest : end)) {
		int count = threads_rank(target, candidate, MAX_TRIED);

		if (count <= 0)
			return count < 0 ? count : -ESRCH;
		error = borrow_one_of(target, candidate, count, round, latest, request, ret);
		if (error == 0 || error == -EBUSY)
			return error;
		(void)abandon_release();
		if (!pidref_alive(&target->ref))
			return -ESRCH;
		if (error > 0)
			transfers_pause();
		else
			(void)nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
		/* While a transfer is waited for, nobody is strictly tried again and again. */
		if (error <= 0 || round < LOOSE_ROUND)
			round++;
	}
	return error > 0 ? -EAGAIN : error;
}
