/* SPDX-License-Identifier: MIT */
/*
 * unwind_locks.c - sigprocmask() and pthread_sigmask() as libunwind calls them, and as everybody
 * else does.
 *
 * The functions are the program's own, which the dynamic linker takes before the C library's for
 * all libraries. Were libunwind linked in a way that it does not find it, it would be slower and
 * as right. What a signal may interrupt between begin and end are handlers that set a flag.
 */
#include "src/unwind/unwind_locks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SET_BYTES 8
/* The C library's own two signals, which nobody blocks (nptl(7)). */
#define C_LIBRARY_SIGNALS (3ul << (32 - 1))

static _Thread_local bool inside;

void unwind_locks_begin(void)
{
	inside = true;
}

void unwind_locks_end(void)
{
	inside = false;
}

static int ask_kernel(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t wanted;

	if (set) {
		wanted = *set;
		*(unsigned long *)(void *)&wanted &= ~C_LIBRARY_SIGNALS;
		set = &wanted;
	}
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, KERNEL_SET_BYTES);
}

__attribute__((visibility("default")))
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	if (!inside)
		return ask_kernel(how, set, old);
	if (old)
		sigemptyset(old);
	return 0;
}

/* libunwind's from 1.8 on, if there is one. Returns the error, and leaves errno as it was. */
__attribute__((visibility("default")))
int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	int before = errno, error = sigprocmask(how, set, old) ? errno : 0;

	errno = before;
	return error;
}
