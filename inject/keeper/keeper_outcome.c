/* SPDX-License-Identifier: MIT */
/* keeper_outcome.c - what the failure of a request means to who asked. */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "inject/tracee/proc_status.h"

static bool needs_threads(enum proto_type type)
{
	return type == PROTO_LOAD || type == PROTO_UNHOOK || type == PROTO_UNLOAD;
}

/* What a thread that executes nothing looks like to who wants it to. */
static bool may_be_frozen(enum proto_type type, int status)
{
	return (needs_threads(type) || type == PROTO_SAMPLE || type == PROTO_FREEZE) &&
	       (status == -EAGAIN || status == -ETIME || status == -EPERM);
}

/*
 * Can another tracer be why? On the way out any failure may come of one: threads that it has
 * stopped are not blocked in a system call, for a moment.
 */
static bool may_be_traced(enum proto_type type, int status)
{
	if (type == PROTO_LOAD || type == PROTO_SAMPLE)
		return status == -EPERM;
	return needs_threads(type) && status < 0;
}

/* Says which other process traces the target: only one can. False: none does. */
static bool is_traced(struct keeper *k)
{
	struct proc_thread_status status, tracer;
	pid_t pid = k->in.at.target.ref.pid, tid = proc_live_thread(pid);

	if (tid <= 0 || proc_read_thread_status(pid, tid, &status) < 0 || !status.tracer ||
	    status.tracer == getpid())
		return false;
	if (proc_read_status(status.tracer, &tracer) < 0)
		(void)snprintf(tracer.name, sizeof(tracer.name), "?");
	(void)snprintf(k->in.problem, sizeof(k->in.problem),
		       "it is being traced by process %d (%s); end or detach that tracer first",
		       (int)status.tracer, tracer.name);
	return true;
}

int keeper_outcome(struct keeper *k, enum proto_type type, int status)
{
	/* A thread that ends while it is at work for us is not the end of the target. */
	if (status == -ESRCH && needs_threads(type) && !k->gone &&
	    pidref_alive(&k->in.at.target.ref))
		return -EAGAIN;		/* another will do */
	if (may_be_frozen(type, status) && proc_find_frozen(k->in.at.target.ref.pid)) {
		(void)snprintf(k->in.problem, sizeof(k->in.problem),
			       "its control group has frozen it (docker pause, systemctl freeze); "
			       "try again when it runs");
		/* On the way in there is nothing to wait for. */
		return type == PROTO_LOAD ? -EBUSY : status;
	}
	if (may_be_traced(type, status) && is_traced(k))
		return type == PROTO_LOAD ? -EBUSY : status;
	if (type == PROTO_UNHOOK && status == -ETIME && k->in.quiesce.blocker &&
	    !k->in.problem[0])
		(void)snprintf(k->in.problem, sizeof(k->in.problem),
			       "thread %d may still be inside a hooked call",
			       k->in.quiesce.blocker);
	return status;
}
