/* SPDX-License-Identifier: MIT */
/* http_sandbox.c - see http_sandbox.h. */
#include "src/daemon/http_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/base/sanitized.h"
#include "src/sandbox/sandbox.h"

#define ADDRESS_SPACE	(1ull << 30)
#define DESCRIPTORS	256u

static const int allowed[] = {
	SCMP_SYS(accept4), SCMP_SYS(brk), SCMP_SYS(clock_gettime), SCMP_SYS(close),
	SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_wait), SCMP_SYS(exit),
	SCMP_SYS(exit_group), SCMP_SYS(fstat), SCMP_SYS(futex),
	SCMP_SYS(geteuid), SCMP_SYS(getpid), SCMP_SYS(getrandom), SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt), SCMP_SYS(gettimeofday), SCMP_SYS(lseek), SCMP_SYS(madvise),
	SCMP_SYS(mremap), SCMP_SYS(munmap), SCMP_SYS(newfstatat), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sendfile), SCMP_SYS(sendmsg), SCMP_SYS(sendto),
	SCMP_SYS(setsockopt), SCMP_SYS(shutdown), SCMP_SYS(write), SCMP_SYS(writev),
};

/* Not F_SETOWN and F_SETSIG: descriptors that send any signal to memattachd. */
static const int fcntl_commands[] = { F_GETFD, F_SETFD, F_GETFL, F_SETFL };

static int install(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(allowed); i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; !error && i < ARRAY_SIZE(fcntl_commands); i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
					 SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)fcntl_commands[i], 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
					 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return error ? error : seccomp_load(filter);
}

int http_sandbox_enter(void)
{
	const struct rlimit memory = { ADDRESS_SPACE, ADDRESS_SPACE };
	const struct rlimit descriptors = { DESCRIPTORS, DESCRIPTORS };
	scmp_filter_ctx filter;
	int error;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	error = sandbox_drop_capabilities();
	if (error || MEMATTACH_SANITIZED)	/* which has calls of its own to make */
		return error;
	if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_NOFILE, &descriptors) < 0)
		return -errno;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	error = install(filter);
	seccomp_release(filter);
	return error;
}
