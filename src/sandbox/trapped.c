/* SPDX-License-Identifier: MIT */
/*
 * trapped.c - see trapped.h.
 *
 * The filter (sandbox.c) makes a signal of such a call. The handler runs in the thread that made
 * it, so it has the path at hand, and does nothing but system calls. Each question has a socket of
 * its own for the answer: threads and children ask side by side.
 * Rejected: the kernel's own way of asking another process (SECCOMP_RET_USER_NOTIF), as that one
 * had to read our memory for the path, which Yama forbids it; replacing open() for all libraries,
 * which misses what the C library opens itself.
 */
#include "src/sandbox/trapped.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "inject/arch/x86_64/trap_regs.h"
#include "src/base/passed_fd.h"
#include "src/sandbox/opener.h"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1	/* si_code, <asm-generic/siginfo.h> */
#endif

static int asked = -1;		/* of this process */

/* One descriptor beside one part or two. 0 or -errno. */
static int send_with(int socket, struct iovec *part, size_t count, int fd)
{
	struct msghdr packet = { .msg_iov = part, .msg_iovlen = count };
	union passed_fd_room room;

	passed_fd_put(&packet, &room, fd);
	while (sendmsg(socket, &packet, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -EACCES;
	return 0;
}

/* What the opener says: a descriptor, 0 done, -errno. */
static int receive_answer(int socket, bool stays)
{
	union passed_fd_room control;
	int32_t result = -EACCES;
	struct iovec part = { &result, sizeof(result) };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	ssize_t got;
	int fd;

	do {
		got = recvmsg(socket, &packet, stays ? 0 : MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -EACCES;
	fd = passed_fd_take(&packet);
	if (got == (ssize_t)sizeof(result))
		return fd >= 0 ? fd : result <= 0 ? result : -EACCES;
	cleanup_fd(&fd);
	return -EACCES;
}

static int trapped_ask(struct opener_question *question, const char *path)
{
	struct iovec part[] = { { question, sizeof(*question) },
				{ (void *)(uintptr_t)path, strnlen(path, OPENER_PATH_BYTES) } };
	int pair[2], result;

	if (part[1].iov_len == OPENER_PATH_BYTES)
		return -ENAMETOOLONG;
	if (part[1].iov_len == 0)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	result = send_with(asked, part, ARRAY_SIZE(part), pair[1]);
	(void)close(pair[1]);
	if (!result)
		result = receive_answer(pair[0], !(question->flags & O_CLOEXEC));
	(void)close(pair[0]);
	return result;
}

static int open_at(int folder, const char *path, int flags, unsigned int mode)
{
	struct opener_question question = { .what = OPENER_OPEN, .flags = flags, .mode = mode };

	if (folder != AT_FDCWD && path[0] != '/')
		return -EACCES;
	return trapped_ask(&question, path);
}

static int remove_at(int folder, const char *path, int flags)
{
	struct opener_question question = { .what = OPENER_REMOVE };

	if (flags || (folder != AT_FDCWD && path[0] != '/'))
		return -EACCES;
	return trapped_ask(&question, path);
}

static const char *path_in(const ucontext_t *context, unsigned int which)
{
	return (const char *)(uintptr_t)trap_regs_argument(context, which);
}

static int int_in(const ucontext_t *context, unsigned int which)
{
	return (int)trap_regs_argument(context, which);
}

static void on_call(int signal, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;
	int result = -EPERM, before = errno;

	(void)signal;
	if (info->si_code != SYS_SECCOMP)
		return;
	switch (info->si_syscall) {
#ifdef SYS_open			/* not every processor has them */
	case SYS_open:
		result = open_at(AT_FDCWD, path_in(context, 0), int_in(context, 1),
				 (unsigned int)int_in(context, 2));
		break;
	case SYS_unlink:
		result = remove_at(AT_FDCWD, path_in(context, 0), 0);
		break;
#endif
	case SYS_openat:
		result = open_at(int_in(context, 0), path_in(context, 1), int_in(context, 2),
				 (unsigned int)int_in(context, 3));
		break;
	case SYS_unlinkat:
		result = remove_at(int_in(context, 0), path_in(context, 1), int_in(context, 2));
		break;
	default:
		break;
	}
	trap_regs_return(context, result);
	errno = before;
}

int trapped_begin(int opener)
{
	/* several at once: a handler of another signal may open something, too */
	const struct sigaction action = { .sa_sigaction = on_call,
					  .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART };

	asked = opener;
	return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}
