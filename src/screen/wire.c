/* SPDX-License-Identifier: MIT */
/*
 * wire.c - messages in and out of a stream socket, in pieces, without ever waiting.
 *
 * A stream rather than packets: a table of sites does not fit into one, and what could not be sent
 * at once stays where it is until the other side reads on. Rejected: shared memory, which a
 * reader that is taken over could change under its partner's hands.
 */
#include "src/screen/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "src/base/passed_fd.h"

void screen_inbox_done(struct screen_inbox *inbox)
{
	free(inbox->bytes);
	inbox->bytes = NULL;
}

/* Descriptors that nobody asked for are closed. */
static void take_fd(struct msghdr *message, int *ret_fd)
{
	int fd = passed_fd_take(message);

	if (!ret_fd) {
		cleanup_fd(&fd);
	} else if (fd >= 0) {
		cleanup_fd(ret_fd);
		*ret_fd = fd;
	}
}

/* Bytes read; 0 none are there; -EPIPE. */
static ssize_t read_some(int socket, void *to, size_t bytes, int *ret_fd)
{
	union passed_fd_room control;
	struct iovec part = { to, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	take_fd(&message, ret_fd);
	return n > 0 ? n : -EPIPE;
}

static int begin_message(struct screen_inbox *inbox)
{
	if (inbox->header.bytes > SCREEN_MAX_BYTES)
		return -EBADMSG;
	if (!inbox->bytes)
		inbox->bytes = malloc(SCREEN_MAX_BYTES);
	return inbox->bytes ? 0 : -ENOMEM;
}

int screen_receive(int socket, struct screen_inbox *inbox, int *ret_fd)
{
	const size_t head = sizeof(inbox->header);

	if (inbox->got >= head && inbox->got == head + inbox->header.bytes)
		inbox->got = 0;		/* the last one has been looked at */
	for (;;) {
		size_t body = inbox->got < head ? 0 : inbox->got - head;
		ssize_t n;

		if (inbox->got >= head && body == inbox->header.bytes)
			return 1;
		n = inbox->got < head ?
			read_some(socket, (char *)&inbox->header + inbox->got, head - inbox->got,
				  ret_fd) :
			read_some(socket, inbox->bytes + body, inbox->header.bytes - body, ret_fd);
		if (n <= 0)
			return (int)n;
		inbox->got += (size_t)n;
		if (inbox->got == head) {
			int error = begin_message(inbox);

			if (error)
				return error;
		}
	}
}

void screen_outbox_done(struct screen_outbox *outbox)
{
	free(outbox->bytes.bytes);
	*outbox = (struct screen_outbox){ .sent = 0 };
}

size_t screen_outbox_waiting(const struct screen_outbox *outbox)
{
	return outbox->bytes.count - outbox->sent;
}

int screen_outbox_begin(struct screen_outbox *outbox, enum screen_type type)
{
	const struct screen_header header = { .type = type };

	outbox->begun = outbox->bytes.count;
	return apart_put(&outbox->bytes, &header, sizeof(header));
}

int screen_outbox_end(struct screen_outbox *outbox, int error)
{
	struct screen_header header;
	size_t bytes;

	if (error) {
		outbox->bytes.count = outbox->begun;
		return error;
	}
	bytes = outbox->bytes.count - outbox->begun - sizeof(header);
	if (bytes > SCREEN_MAX_BYTES)
		return screen_outbox_end(outbox, -E2BIG);
	memcpy(&header, outbox->bytes.bytes + outbox->begun, sizeof(header));
	header.bytes = (uint32_t)bytes;
	memcpy(outbox->bytes.bytes + outbox->begun, &header, sizeof(header));
	return 0;
}

int screen_send(int socket, struct screen_outbox *outbox)
{
	while (screen_outbox_waiting(outbox)) {
		ssize_t n = send(socket, outbox->bytes.bytes + outbox->sent,
				 screen_outbox_waiting(outbox), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
		outbox->sent += (size_t)n;
	}
	outbox->bytes.count = outbox->sent = 0;
	return 0;
}

int screen_send_fd(int socket, struct screen_outbox *outbox, int fd)
{
	struct iovec part = { outbox->bytes.bytes + outbox->sent, screen_outbox_waiting(outbox) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union passed_fd_room room;
	ssize_t n;

	passed_fd_put(&message, &room, fd);
	n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	outbox->sent += (size_t)n;
	return screen_send(socket, outbox) ?: screen_outbox_waiting(outbox) ? -EAGAIN : 0;
}
