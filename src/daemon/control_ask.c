/* SPDX-License-Identifier: MIT */
/* control_ask.c - see control_ask.h. */
#include "src/daemon/control_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/passed_fd.h"

static int connect_to(const char *path, int seconds)
{
	const struct timeval wait = { .tv_sec = seconds };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	result = fd;
	fd = -1;
	return result;
}

static int send_request(int fd, json_t *request)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *line = NULL;
	int bytes;
	ssize_t sent;

	if (json_object_set_new(request, "memattach", json_integer(1)) < 0)
		return -ENOMEM;
	text = json_dumps(request, JSON_COMPACT);
	bytes = text ? asprintf(&line, "%s\n", text) : -1;
	if (bytes < 0)
		return -ENOMEM;
	sent = send(fd, line, (size_t)bytes, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return sent == bytes ? 0 : -ETIMEDOUT;
}

/* As read(), -errno; a descriptor that comes along replaces *fd. */
static ssize_t receive_some(int from, char *to, size_t room, int *fd)
{
	union passed_fd_room control;
	struct iovec part = { to, room };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	int came;

	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	came = passed_fd_take(&message);
	if (came >= 0) {
		cleanup_fd(fd);
		*fd = came;
	}
	return n;
}

/* What has come so far. */
struct heard {
	char *text;
	size_t room, got;
	int fd;
};

static void heard_done(struct heard *heard)
{
	free(heard->text);
	cleanup_fd(&heard->fd);
}

/* 1 more has come, 0 it has ended, -EBADMSG too much, -ETIMEDOUT, -errno. */
static int hear_some(int from, struct heard *heard)
{
	ssize_t n;

	if (heard->got == heard->room) {
		size_t room = heard->room ? heard->room * 2 : 65536;
		char *grown = room <= CONTROL_ANSWER_BYTES ? realloc(heard->text, room) : NULL;

		if (!grown)
			return room <= CONTROL_ANSWER_BYTES ? -ENOMEM : -EBADMSG;
		heard->text = grown;
		heard->room = room;
	}
	do
		n = receive_some(from, heard->text + heard->got, heard->room - heard->got,
				 &heard->fd);
	while (n == -EINTR);
	heard->got += n > 0 ? (size_t)n : 0;
	return n > 0 ? 1 : (int)n;
}

/* What we are told is wrong, or the answer. */
static int take_answer(struct heard *heard, struct control_told *ret)
{
	json_t *answer = json_loadb(heard->text, heard->got, 0, NULL);
	const char *problem = json_string_value(json_object_get(answer, "error"));

	if (json_is_object(answer) && !problem) {
		ret->document = answer;
		ret->fd = heard->fd;
		heard->fd = -1;
		return 0;
	}
	if (problem) {
		(void)snprintf(ret->error, sizeof(ret->error), "%s", problem);
		ret->status = (int)json_integer_value(json_object_get(answer, "status"));
	}
	json_decref(answer);
	return problem ? -EREMOTEIO : -EBADMSG;
}

int control_ask(const char *path, json_t *request, int seconds, struct control_told *ret)
{
	_cleanup_fd_ int fd = connect_to(path, seconds);
	_cleanup_(heard_done) struct heard heard = { .fd = -1 };
	int result = fd < 0 ? fd : send_request(fd, request);

	*ret = (struct control_told){ .fd = -1 };
	if (result == 0)
		do
			result = hear_some(fd, &heard);
		while (result == 1);
	return result ? result : take_answer(&heard, ret);
}

/* --- what goes on --------------------------------------------------------- */

/* Whole lines are handed on, and leave. */
static int hand_on(struct heard *heard, control_hear *hear, void *context, char error[256])
{
	char *end;
	int result = 0;

	while (!result && (end = memchr(heard->text, '\n', heard->got))) {
		size_t bytes = (size_t)(end - heard->text) + 1;
		json_t *document = json_loadb(heard->text, bytes, 0, NULL);
		const char *problem = json_string_value(json_object_get(document, "error"));

		if (problem)
			(void)snprintf(error, 256, "%s", problem);
		result = problem ? -EREMOTEIO : json_is_object(document) ?
			 hear(context, document) : -EBADMSG;
		json_decref(document);
		heard->got -= bytes;
		memmove(heard->text, heard->text + bytes, heard->got);
	}
	return result;
}

int control_follow(const char *path, json_t *request, control_hear *hear, void *context,
		   char error[256])
{
	_cleanup_fd_ int fd = connect_to(path, 0);
	_cleanup_(heard_done) struct heard heard = { .fd = -1 };
	int result = fd < 0 ? fd : send_request(fd, request), more;

	while (!result && (more = hear_some(fd, &heard)) != 0)
		result = more < 0 ? more : hand_on(&heard, hear, context, error);
	return result;
}
