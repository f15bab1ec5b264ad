/* SPDX-License-Identifier: MIT */
/*
 * opener.c - see opener.h.
 *
 * It holds no descriptor of the target's and no capability, and is in a filter of its own. It ends
 * when nobody has the other end of its socket any more. Why not the keeper: that one may not wait,
 * for a file system either, and opens more than the user could. It is the keeper's child, not the
 * analyst's: the pages that an analyst begins to write to would stay the opener's alone.
 */
#include "src/sandbox/opener.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "src/base/give_back.h"
#include "src/base/passed_fd.h"
#include "src/sandbox/opener_rules.h"
#include "src/sandbox/sandbox.h"
#include "src/sandbox/trapped.h"

struct asked {
	struct opener_question question;
	char path[OPENER_PATH_BYTES];
	pid_t from;
	int answer;		/* a socket; -1 */
};

static void take_control(struct msghdr *packet, struct asked *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c; c = CMSG_NXTHDR(packet, c)) {
		struct ucred sender;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&sender, CMSG_DATA(c), sizeof(sender));
		ret->from = sender.pid;
	}
	ret->answer = passed_fd_take(packet);
}

static int receive(int socket, struct asked *ret)
{
	struct iovec part[] = { { &ret->question, sizeof(ret->question) },
				{ ret->path, sizeof(ret->path) - 1 } };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr packet = { .msg_iov = part, .msg_iovlen = 2, .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	ssize_t got;

	ret->answer = -1;
	ret->from = 0;
	do {
		got = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return -EPIPE;
	take_control(&packet, ret);
	if ((size_t)got <= sizeof(ret->question) || (packet.msg_flags & MSG_TRUNC))
		return -EPROTO;
	ret->path[(size_t)got - sizeof(ret->question)] = '\0';
	return 0;
}

/* Nobody is waited for: who does not read his answer has none. */
static void reply(int socket, int32_t result)
{
	int32_t status = result < 0 ? result : 0;
	struct iovec part = { &status, sizeof(status) };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	union passed_fd_room room;

	if (result > 0)
		passed_fd_put(&packet, &room, result);
	(void)sendmsg(socket, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int answer(const struct opener_rules *rules, const struct asked *asked)
{
	const struct opener_file file = {
		.path = asked->path, .flags = asked->question.flags,
		.mode = asked->question.mode, .from = asked->from,
	};

	if (asked->question.what == OPENER_OPEN)
		return opener_rules_open(rules, &file);
	return asked->question.what == OPENER_REMOVE ? opener_rules_remove(rules, asked->path) :
						       -EPERM;
}

static _Noreturn void serve(const struct opener_rules *rules, int socket)
{
	static struct asked asked;
	int error;

	while ((error = receive(socket, &asked)) != -EPIPE) {
		int fd = error ? error : answer(rules, &asked);

		if (asked.answer >= 0)
			reply(asked.answer, fd);
		if (fd > 0)
			(void)close(fd);
		cleanup_fd(&asked.answer);
	}
	_exit(0);
}

/* Who asks says when it ends, by closing the socket: nobody else, at the terminal or elsewhere. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become(const struct opener_needs *needs,
			     const struct file_reader *reader, int socket)
{
	int keep[] = { socket, -1, -1 };
	struct opener_rules rules;

	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	(void)prctl(PR_SET_NAME, OPENER_NAME, 0, 0, 0);
	ignore_signals();
	if (opener_rules_init(needs, reader, &rules))
		_exit(1);
	keep[1] = rules.unnamed[0];
	keep[2] = rules.unnamed[1];
	close_others(keep, ARRAY_SIZE(keep));
	if (sandbox_enter_opener())
		_exit(1);
	serve(&rules, socket);
}

int opener_begin(const struct opener_needs *needs, const struct file_reader *reader)
{
	const int on = 1;
	int pair[2], error;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	(void)setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	(void)fflush(NULL);
	give_back_memory();	/* what is free now would be copied when it is used here */
	child = fork();
	if (child == 0)
		become(needs, reader, pair[1]);
	error = child < 0 ? -errno : 0;
	(void)close(pair[1]);
	if (error)
		(void)close(pair[0]);
	return error ? error : pair[0];
}

int opener_confine(const struct opener_needs *needs, const struct file_reader *reader)
{
	int opener = opener_begin(needs, reader);

	return opener < 0 ? opener : trapped_begin(opener) ?: sandbox_enter();
}
