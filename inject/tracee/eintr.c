/* SPDX-License-Identifier: MIT */
/*
 * eintr.c - epoll_wait and its like return -EINTR to any stop. They have done
 * nothing by then; -ERESTARTNOHAND makes the kernel start them again, or
 * return the -EINTR after all when a handler runs. Rewinding rip by hand
 * instead would hide that second case: a lost wake-up.
 */
#include "inject/tracee/eintr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/tracee/abandon.h"

static bool is_socket(pid_t tid, int descriptor)
{
	char path[64], name[8] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, descriptor);
	return readlink(path, name, sizeof(name) - 1) > 0 && strcmp(name, "socket:") == 0;
}

/* Of those that move between two descriptors either may be what was waited for. */
static bool is_of_socket(pid_t tid, const struct user_regs_struct *r)
{
	return is_socket(tid, (int)r->rdi) ||
	       (r->orig_rax == SYS_splice && is_socket(tid, (int)r->rdx));
}

/* See eintr_avoid_restart(). */
static bool avoids_restart;

void eintr_avoid_restart(bool avoid)
{
	avoids_restart = avoid;
}

static bool is_ours(pid_t tid, const struct user_regs_struct *registers)
{
	long number = (long)registers->orig_rax;

	if (number < 0)
		return false;
	if ((long)registers->rax == -EINTR_RESTART_RESTARTBLOCK)
		return avoids_restart;
	if ((long)registers->rax != -EINTR)
		return false;
	return regs_eintr_is_ours(number) ||
	       (regs_eintr_is_ours_of_socket(number) && is_of_socket(tid, registers));
}

int eintr_hide(pid_t tid, struct user_regs_struct *registers)
{
	if (!is_ours(tid, registers))
		return 0;
	registers->rax = (unsigned long long)-EINTR_RESTARTNOHAND;
	return tracee_set_registers(tid, registers);
}

int eintr_detach(pid_t tid, int signal)
{
	int error = tracee_detach(tid, signal);

	if (error == -ESRCH)
		abandon_tracee(tid);
	return error;
}

int eintr_release(pid_t tid, const struct tracee_stop *stop)
{
	struct user_regs_struct registers;

	if (stop->kind == TRACEE_EVENT_STOP || stop->kind == TRACEE_SIGNAL) {
		int error = tracee_get_registers(tid, &registers);

		if (!error)
			error = eintr_hide(tid, &registers);
		(void)error;	/* gone: the detach finds out */
	}
	return eintr_detach(tid, stop->kind == TRACEE_SIGNAL ? stop->signal : 0);
}
