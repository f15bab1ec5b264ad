/* SPDX-License-Identifier: MIT */
/*
 * picture_files.c - see picture_files.h. CLOSE_RANGE_UNSHARE copies only what it is not to close:
 * nothing (Linux 5.9). The call is the only thing that the child ever runs.
 */
#include "inject/picture_files.h"

#include <sys/user.h>

#include "inject/proc_status.h"
#include "inject/tracee.h"

#define CLOSE_RANGE_NUMBER 436		/* older headers don't have it */
#define CLOSE_RANGE_UNSHARED 2u		/* CLOSE_RANGE_UNSHARE */
#define CALL_LIMIT_NS 500000000ull

static bool run_to(pid_t child, enum tracee_stop_kind wanted)
{
	struct tracee_stop stop;

	return tracee_run_to_syscall(child) == 0 &&
	       tracee_wait(child, tracee_now_ns() + CALL_LIMIT_NS, &stop) == 0 &&
	       stop.kind == wanted;
}

static bool is_filtered(pid_t child)
{
	struct proc_thread_status status;

	return proc_read_status(child, &status) != 0 || status.seccomp != 0;
}

bool picture_files_drop(pid_t child, uint64_t syscall_ret)
{
	struct user_regs_struct found, call;
	bool done;

	if (is_filtered(child) || tracee_get_registers(child, &found) != 0)
		return false;
	call = found;
	call.rip = syscall_ret;
	call.rax = CLOSE_RANGE_NUMBER;
	call.rdi = 0;
	call.rsi = ~0u;
	call.rdx = CLOSE_RANGE_UNSHARED;
	call.orig_rax = ~0ull;
	done = tracee_set_registers(child, &call) == 0 && run_to(child, TRACEE_SYSCALL_ENTRY) &&
	       run_to(child, TRACEE_SYSCALL_EXIT) && tracee_get_registers(child, &call) == 0 &&
	       call.rax == 0;
	/* should we be killed by what does not take it along, it ends itself, as before */
	return tracee_set_registers(child, &found) == 0 && done;
}
