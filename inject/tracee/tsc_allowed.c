/* SPDX-License-Identifier: MIT */
/* tsc_allowed.c - see tsc_allowed.h. */
#include "inject/tracee/tsc_allowed.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "inject/tracee/remote_mem.h"

int tsc_check_allowed(struct borrow *b)
{
	uint64_t arguments[6] = { PR_GET_TSC };
	int32_t mode = PR_TSC_ENABLE;
	int64_t result = 0;
	int error = borrow_put(b, &mode, sizeof(mode), &arguments[1]);

	if (!error)
		error = borrow_syscall(b, SYS_prctl, arguments, &result);
	if (error || result < 0)
		return error;
	error = remote_read(b->target, arguments[1], &mode, sizeof(mode));
	if (error)
		return error;
	return mode == PR_TSC_SIGSEGV ? -ENODEV : 0;
}
