/* SPDX-License-Identifier: MIT */
/* dispatch_check.c - see dispatch_check.h. */
#include "inject/preflight/dispatch_check.h"

#include <errno.h>
#include <signal.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"

#define STOP_LIMIT_NS 2000000000ull

bool dispatch_is_answered(uint64_t signals_caught)
{
	return signals_caught >> (SIGSYS - 1) & 1;
}

/* 1, 0, -errno. */
static int ask_thread(pid_t tid)
{
	struct tracee_stop stop;
	int error = tracee_seize(tid), result;

	if (!error)
		error = tracee_interrupt(tid);
	if (error)
		return error;
	error = tracee_wait(tid, tracee_now_ns() + STOP_LIMIT_NS, &stop);
	if (error) {
		abandon_tracee(tid);
		return error;
	}
	result = tracee_may_dispatch(tid);
	(void)eintr_release(tid, &stop);
	return result;
}

/* What can't be asked and runs code of the program's may be one that does. */
static bool may_dispatch(pid_t pid, pid_t tid)
{
	int result = ask_thread(tid);

	return result > 0 || (result < 0 && result != -ESRCH && !proc_runs_no_code(pid, tid));
}

bool dispatch_check(pid_t pid, uint64_t *ret_held_us)
{
	_cleanup_free_ pid_t *tids = NULL;
	struct proc_thread_status status;
	pid_t any = proc_live_thread(pid);
	int threads;

	*ret_held_us = 0;
	if (any <= 0 || proc_read_thread_status(pid, any, &status) ||
	    !dispatch_is_answered(status.sig_caught))
		return false;
	threads = proc_list_threads(pid, &tids);
	for (int i = 0; i < threads; i++) {
		uint64_t begin_ns, held_us;
		bool found;

		transfers_wait_for(pid, tids[i]);
		begin_ns = tracee_now_ns();
		found = may_dispatch(pid, tids[i]);
		held_us = (tracee_now_ns() - begin_ns) / 1000;
		if (held_us > *ret_held_us)
			*ret_held_us = held_us;
		if (found)
			return true;
	}
	return false;
}
