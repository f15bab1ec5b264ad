/* SPDX-License-Identifier: MIT */
/* eintr.h - hides the -EINTR that our stop alone has caused. */
#ifndef MEMATTACH_EINTR_H
#define MEMATTACH_EINTR_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/tracee/tracee.h"
#include "src/base/cleanup.h"

/* Results by which the kernel says how an interrupted call goes on (include/linux/errno.h). */
enum eintr_restart {
	EINTR_RESTARTSYS = 512,
	EINTR_RESTARTNOINTR = 513,
	EINTR_RESTARTNOHAND = 514,
	EINTR_RESTART_RESTARTBLOCK = 516,
};

/* At an event stop: was it waiting in a system call that goes on afterwards? Else it ran. */
static inline bool eintr_was_waiting(const struct user_regs_struct *registers)
{
	long result = -(long)registers->rax;

	return (long)registers->orig_rax >= 0 &&
	       (result == EINTR_RESTARTSYS || result == EINTR_RESTARTNOINTR ||
		result == EINTR_RESTARTNOHAND || result == EINTR_RESTART_RESTARTBLOCK);
}

/*
 * From now on an interrupted sleep or poll starts again in full: how the kernel goes on with the
 * rest, restart_syscall, is a call that the program's filter may refuse. Whether it does is not
 * known (it came a moment ago), or it does.
 */
void eintr_avoid_restart(bool avoid);
/*
 * tid stands in an event stop and *registers was read there. When its call
 * returned -EINTR only because of the stop, the result becomes
 * -ERESTARTNOHAND, in the thread and in *registers. 0 or -ESRCH.
 */
int eintr_hide(pid_t tid, struct user_regs_struct *registers) _must_check_;
/*
 * The way out of every stop that changed nothing: hides such an -EINTR (also
 * behind a signal that turns out to be ignored), passes the stop's signal on and
 * lets tid run. A tracee that was killed meanwhile is noted to be reaped, or the
 * target's exec would wait for it. 0 or -ESRCH.
 */
int eintr_release(pid_t tid, const struct tracee_stop *stop);
/* The same at the end of a stop that set the registers itself. */
int eintr_detach(pid_t tid, int signal);

#endif
