/* SPDX-License-Identifier: MIT */
/*
 * screen_sandbox.c - see screen_sandbox.h.
 *
 * A list of what is allowed: after ncurses has read its description of the terminal, a screen
 * needs little. What it could do if a name of the target took it over: draw what it likes. Of
 * ioctl there are the modes and the size of a terminal; not TIOCSTI, which types for the user.
 */
#include "src/screen/screen_sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>

#include "src/base/sanitized.h"
#include "src/sandbox/sandbox.h"

static const int allowed[] = {
	SCMP_SYS(brk), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(close),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(fstat), SCMP_SYS(futex),
	SCMP_SYS(getpgrp), SCMP_SYS(getpid), SCMP_SYS(gettimeofday), SCMP_SYS(lseek),
	SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(pselect6),
	SCMP_SYS(read), SCMP_SYS(recvmsg), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(select), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(write),
};
static const unsigned long terminal_requests[] = {
	TCGETS, TCSETS, TCSETSF, TCSETSW, TIOCGPGRP, TIOCGWINSZ,
};

static int allow_terminal(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(terminal_requests); i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
					 SCMP_A1(SCMP_CMP_EQ, terminal_requests[i], 0));
	return error;
}

/* ^Z: it stops itself. */
static int allow_stop(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0),
				SCMP_A1(SCMP_CMP_EQ, SIGSTOP, 0));
}

static int allow_memory(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

int screen_sandbox_enter(void)
{
	scmp_filter_ctx filter;
	int error = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	error = sandbox_drop_capabilities();
	if (error)
		return error;
	if (MEMATTACH_SANITIZED)	/* which has calls of its own to make */
		return 0;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	for (size_t i = 0; !error && i < ARRAY_SIZE(allowed); i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!error)
		error = allow_terminal(filter);
	if (!error)
		error = allow_stop(filter);
	if (!error)
		error = allow_memory(filter);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}
