/* SPDX-License-Identifier: MIT */
/* keeper_outcome.c - what the failure of a request means to who asked. */
#include "inject/keeper_private.h"

#include <errno.h>
#include <stdio.h>

#include "inject/proc_status.h"

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
	if (type == PROTO_UNHOOK && status == -ETIME && k->in.quiesce.blocker &&
	    !k->in.problem[0])
		(void)snprintf(k->in.problem, sizeof(k->in.problem),
			       "thread %d may still be inside a hooked call",
			       k->in.quiesce.blocker);
	return status;
}
