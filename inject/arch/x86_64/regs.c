/* SPDX-License-Identifier: MIT */
/*
 * regs.c - argument registers, and which system calls show an EINTR.
 *
 * Most interruptible calls return an internal code that makes the kernel start
 * them again when no handler ran. The calls below return a plain -EINTR even to
 * a stop that delivers no signal; they have done nothing by then, so that
 * rewriting the result to -ERESTARTNOHAND is exact: started again when no
 * handler runs, -EINTR when one does. A send that has sent a part returns its
 * count instead (net/core/stream.c), and a connect goes on where it was (without a
 * time-out the kernel itself starts it again). Never in this list: close, and writes to
 * what is not surely a socket, which may have made progress.
 */
#include "inject/arch/x86_64/regs.h"

#include <stddef.h>
#include <sys/syscall.h>

void regs_set_syscall(struct user_regs_struct *to, long number, const uint64_t arguments[6])
{
	to->rax = (unsigned long long)number;
	to->rdi = arguments[0];
	to->rsi = arguments[1];
	to->rdx = arguments[2];
	to->r10 = arguments[3];
	to->r8 = arguments[4];
	to->r9 = arguments[5];
	to->eflags &= ~(unsigned long long)REGS_TF_DF;
}

bool regs_has_opened(const struct user_regs_struct *at_exit, uint64_t *ret_name, int *ret_fd)
{
	long number = (long)at_exit->orig_rax;

	*ret_name = number == SYS_open ? at_exit->rdi : at_exit->rsi;
	*ret_fd = (int)at_exit->rax;
	return (number == SYS_open || number == SYS_openat) && (long)at_exit->rax >= 0;
}

bool regs_has_mapped(const struct user_regs_struct *at_exit, struct regs_mapped *ret)
{
	*ret = (struct regs_mapped){ at_exit->rax, at_exit->rsi, at_exit->r10, (int)at_exit->r8 };
	return (long)at_exit->orig_rax == SYS_mmap && (long)at_exit->rax >= 0;
}

bool regs_has_not_mapped(const struct user_regs_struct *at_exit, struct regs_mapped *ret)
{
	bool maps = (long)at_exit->orig_rax == SYS_mmap;

	*ret = (struct regs_mapped){ at_exit->rdi, at_exit->rsi, maps ? at_exit->r10 : 0,
				     maps ? (int)at_exit->r8 : -1 };
	return (maps || (long)at_exit->orig_rax == SYS_mprotect) && (long)at_exit->rax < 0;
}

void regs_set_result(struct user_regs_struct *at_exit, int64_t result)
{
	at_exit->rax = (unsigned long long)result;
}

bool regs_eintr_is_ours(long number)
{
	static const short known[] = {
		SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */,
		/* sockets with SO_RCVTIMEO, SO_SNDTIMEO */
		SYS_read, SYS_readv, SYS_preadv2, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
		SYS_accept, SYS_accept4, SYS_connect, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
		SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
		SYS_io_getevents, 333 /* io_pgetevents */, 426 /* io_uring_enter */,
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == number)
			return true;
	return false;
}

bool regs_eintr_is_ours_of_socket(long number)
{
	return number == SYS_write || number == SYS_writev || number == SYS_pwritev2 ||
	       number == SYS_sendfile || number == SYS_splice;
}
