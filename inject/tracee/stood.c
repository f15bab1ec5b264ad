/* SPDX-License-Identifier: MIT */
/* stood.c - the time since the asking, less what the kernel counted as waiting. */
#include "inject/tracee/stood.h"

#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"

void stood_ask(struct stood *stood, pid_t pid, pid_t tid)
{
	*stood = (struct stood){ .pid = pid, .tid = tid };
	if (proc_read_run_delay(pid, tid, &stood->waited_ns) != 0)
		stood->waited_ns = UINT64_MAX;
	stood->asked_ns = tracee_now_ns();
}

uint64_t stood_since(const struct stood *stood)
{
	uint64_t now, waited, since = stood->asked_ns;

	if (stood->waited_ns != UINT64_MAX &&
	    proc_read_run_delay(stood->pid, stood->tid, &waited) == 0 &&
	    waited > stood->waited_ns)
		since += waited - stood->waited_ns;
	now = tracee_now_ns();	/* it may have waited since before it was asked */
	return since < now ? since : now;
}
