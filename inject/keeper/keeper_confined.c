/* SPDX-License-Identifier: MIT */
/*
 * keeper_confined.c - what the target has forbidden itself: found out before anything is done to
 * it, and looked at again while we are in it.
 *
 * Who sandboxes itself in the meantime is seen by the shim before it happens (shim/confine.c), but
 * for who does so without libc. That is seen here, a tick or two later, by the numbers in /proc.
 */
#include "inject/keeper/keeper_private.h"

#include "inject/preflight/dispatch_check.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"
#include "src/base/log.h"

/*
 * All threads are looked at so seldom, and where there are thousands of them for no more than a
 * hundredth of the time; the first one each time.
 */
enum { TICKS_OF_ALL = 5, RESTS_OF_ALL = 100 };

/* enum ring_confined: what a thread has that none had; from now on one does. */
static uint32_t compare(struct keeper_confined *known, const struct proc_thread_status *status)
{
	bool answers = dispatch_is_answered(status->sig_caught);
	uint32_t news = 0;

	if (status->seccomp > known->mode || status->seccomp_filters > known->filters)
		news |= RING_CONFINED_FILTER;
	if (answers && !known->answers)
		news |= RING_CONFINED_DISPATCH;	/* nothing else shows that it may */
	if (status->seccomp > known->mode)
		known->mode = status->seccomp;
	if (status->seccomp_filters > known->filters)
		known->filters = status->seccomp_filters;
	known->answers |= answers;
	return news;
}

static uint32_t compare_all(struct keeper *k)
{
	_cleanup_free_ pid_t *tids = NULL;
	pid_t pid = k->in.at.target.ref.pid;
	int threads = proc_list_threads(pid, &tids);
	struct proc_thread_status status;
	uint32_t news = 0;

	for (int i = 0; i < threads; i++)
		if (proc_read_thread_status(pid, tids[i], &status) == 0)
			news |= compare(&k->confined, &status);
	return news;
}

void keeper_look_at_filters(struct keeper *k)
{
	uint64_t held_us = 0;

	(void)compare_all(k);	/* before the look: what comes meanwhile is seen later */
	keeper_read_filters(k);
	if (k->seccomp.allowed)
		k->confined.dispatches = dispatch_check(k->in.at.target.ref.pid, &held_us);
	attachment_note_stop(&k->in.at, held_us, held_us != 0);
}

/* Where the numbers of filters don't tell whether they are the same, what they let pass does. */
void keeper_look_again(struct keeper *k)
{
	struct seccomp_verdict before = k->seccomp;

	if (!k->seccomp.allowed || seccomp_check_holds(&k->seccomp, k->in.at.target.ref.pid))
		return;
	keeper_read_filters(k);
	k->confined.changed |= before.may_readv > k->seccomp.may_readv ||
			       before.may_wait > k->seccomp.may_wait ||
			       before.may_gettid > k->seccomp.may_gettid;
}

/* What is asked for may stop threads: how do their calls go on? */
void keeper_mind_restarts(const struct keeper *k)
{
	const struct ring_control *control = k->in.at.control;

	eintr_avoid_restart(!k->seccomp.may_restart ||
			    (control && __atomic_load_n(&control->confined, __ATOMIC_RELAXED) &&
			     !seccomp_check_holds(&k->seccomp, k->in.at.target.ref.pid)));
}

static void tell_shim(struct keeper *k, uint32_t news)
{
	struct ring_control *control = k->in.at.control;

	if (!news || !control)
		return;
	(void)__atomic_or_fetch(&control->confined, news, __ATOMIC_SEQ_CST);
	log_debug("the target confines itself: %u", (unsigned int)news);
	keeper_wake_analyst(k);
}

void keeper_begin_confined(struct keeper *k)
{
	tell_shim(k, (k->confined.changed ? RING_CONFINED_FILTER : 0) |
			     (k->confined.dispatches ? RING_CONFINED_DISPATCH : 0));
}

static bool all_are_due(struct keeper *k)
{
	return (k->slow || ++k->confined.ticks >= TICKS_OF_ALL) &&
	       tracee_now_ns() >= k->confined.next_ns;
}

static uint32_t watch_all(struct keeper *k)
{
	uint64_t begin_ns = tracee_now_ns(), end_ns;
	uint32_t news = compare_all(k);

	end_ns = tracee_now_ns();
	k->confined.next_ns = end_ns + RESTS_OF_ALL * (end_ns - begin_ns);
	k->confined.ticks = 0;
	return news;
}

void keeper_watch_confined(struct keeper *k, bool all)
{
	struct proc_thread_status status;
	pid_t pid = k->in.at.target.ref.pid;

	if (!k->in.at.control || k->gone || k->in.done <= INJECT_LOAD)
		return;
	if (all || all_are_due(k))
		tell_shim(k, watch_all(k));
	else if (proc_read_thread_status(pid, proc_live_thread(pid), &status) == 0)
		tell_shim(k, compare(&k->confined, &status));
}
