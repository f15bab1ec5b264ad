/* SPDX-License-Identifier: MIT */
/*
 * unwind_locks.c - sigprocmask() as libunwind calls it, and as everybody else does.
 *
 * The function is the program's own, which the dynamic linker takes before the C library's for
 * all libraries. Were libunwind linked in a way that it does not find it, it would be slower and
 * as right. What a signal may interrupt between begin and end are handlers that set a flag.
 */
#include "src/unwind/unwind_locks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local bool inside;

void unwind_locks_begin(void)
{
	inside = true;
}

void unwind_locks_end(void)
{
	inside = false;
}

__attribute__((visibility("default")))
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	int r;

	if (inside) {
		if (old)
			sigemptyset(old);
		return 0;
	}
	r = pthread_sigmask(how, set, old);
	if (r != 0)
		errno = r;
	return r == 0 ? 0 : -1;
}
