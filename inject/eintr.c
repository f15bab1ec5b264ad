/* SPDX-License-Identifier: MIT */
/*
 * eintr.c - epoll_wait and its like return -EINTR to any stop. They have done
 * nothing by then; -ERESTARTNOHAND makes the kernel start them again, or
 * return the -EINTR after all when a handler runs. Rewinding rip by hand
 * instead would hide that second case: a lost wake-up.
 */
#include "inject/eintr.h"

#include <errno.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/tracee.h"

int eintr_hide(pid_t tid, struct user_regs_struct *registers)
{
	if ((long)registers->orig_rax < 0 || (long)registers->rax != -EINTR ||
	    !regs_eintr_is_ours((long)registers->orig_rax))
		return 0;
	registers->rax = (unsigned long long)-EINTR_RESTARTNOHAND;
	return tracee_set_registers(tid, registers);
}
