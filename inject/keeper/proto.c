/* SPDX-License-Identifier: MIT */
/*
 * proto.c - one message is one packet: header, payload, descriptors. A packet
 * of another length than its header says is an error of the sender.
 */
#include "inject/keeper/proto.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

_Static_assert(PROTO_MAX_FDS % 2 == 0, "no room for one more that CMSG_SPACE rounds up to");
union fd_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * PROTO_MAX_FDS)];
};

int proto_send(int socket, struct proto_message *message, const void *payload, const int *fds)
{
	struct iovec part[2] = {
		{ message, sizeof(*message) },
		{ (void *)(uintptr_t)payload, message->payload_bytes },
	};
	union fd_control control = { .room = "" };
	struct msghdr packet = { .msg_iov = part, .msg_iovlen = 2 };
	size_t fd_bytes = sizeof(int) * message->fd_count;

	if (message->fd_count > PROTO_MAX_FDS || message->payload_bytes > PROTO_MAX_PAYLOAD)
		return -E2BIG;
	if (fd_bytes) {
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(fd_bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fd_bytes);
		memcpy(CMSG_DATA(&control.header), fds, fd_bytes);
	}
	while (sendmsg(socket, &packet, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

static unsigned int take_fds(struct msghdr *packet, int fds[PROTO_MAX_FDS])
{
	unsigned int count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c; c = CMSG_NXTHDR(packet, c)) {
		size_t bytes;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		bytes = c->cmsg_len - CMSG_LEN(0);
		if (bytes > sizeof(int) * (PROTO_MAX_FDS - count))
			bytes = sizeof(int) * (PROTO_MAX_FDS - count);
		memcpy(fds + count, CMSG_DATA(c), bytes);
		count += (unsigned int)(bytes / sizeof(int));
	}
	return count;
}

int proto_receive(int socket, struct proto_message *ret, void *payload, int ret_fds[PROTO_MAX_FDS])
{
	struct iovec part[2] = { { ret, sizeof(*ret) }, { payload, PROTO_MAX_PAYLOAD } };
	union fd_control control;
	struct msghdr packet = { .msg_iov = part, .msg_iovlen = 2, .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	unsigned int fd_count;
	ssize_t got;

	for (int i = 0; i < PROTO_MAX_FDS; i++)
		ret_fds[i] = -1;
	do {
		got = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (got == 0)
		return 0;
	fd_count = take_fds(&packet, ret_fds);
	if ((size_t)got < sizeof(*ret) || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    (size_t)got != sizeof(*ret) + ret->payload_bytes || fd_count != ret->fd_count) {
		for (unsigned int i = 0; i < fd_count; i++)
			cleanup_fd(&ret_fds[i]);
		return -EPROTO;
	}
	return 1;
}
