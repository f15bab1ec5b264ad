/* SPDX-License-Identifier: MIT */
/* http_wire.c - see http_wire.h. */
#include "src/daemon/http_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "src/base/passed_fd.h"

static int send_packet(int link, const void *bytes, size_t count, int descriptor)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = count };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union passed_fd_room room;

	if (descriptor >= 0)
		passed_fd_put(&message, &room, descriptor);
	return sendmsg(link, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* ret_fd: NULL: none is taken. */
static int receive_packet(int link, void *bytes, size_t count, int *ret_fd)
{
	struct iovec part = { .iov_base = bytes, .iov_len = count };
	union passed_fd_room room;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (ret_fd) {
		message.msg_control = room.bytes;
		message.msg_controllen = sizeof(room.bytes);
	}
	n = recvmsg(link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (ret_fd)
		*ret_fd = passed_fd_take(&message);
	if (n == 0)
		return -EPIPE;
	return (size_t)n == count && !(message.msg_flags & MSG_TRUNC) ? 1 : -EBADMSG;
}

int http_send_question(int link, const struct http_question *question)
{
	return send_packet(link, question, sizeof(*question), -1);
}

int http_send_answer(int link, const struct http_answer *answer, int descriptor)
{
	return send_packet(link, answer, sizeof(*answer), descriptor);
}

int http_receive_question(int link, struct http_question *ret)
{
	return receive_packet(link, ret, sizeof(*ret), NULL);
}

int http_receive_answer(int link, struct http_answer *ret, int *ret_fd)
{
	*ret_fd = -1;
	return receive_packet(link, ret, sizeof(*ret), ret_fd);
}

int http_send_begin(int link, const struct http_begin *begin, int listener)
{
	return send_packet(link, begin, sizeof(*begin), listener);
}

int http_receive_begin(int link, struct http_begin *ret, int *ret_listener)
{
	*ret_listener = -1;
	return receive_packet(link, ret, sizeof(*ret), ret_listener);
}
