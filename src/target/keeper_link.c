/* SPDX-License-Identifier: MIT */
/*
 * keeper_link.c - requests go one at a time; notes may come before a reply.
 *
 * While the keeper proves that no thread is inside the shim, threads may be
 * waiting there for room in a ring that only we can make: hence the idle call.
 */
#include "src/target/keeper_link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { IDLE_MS = 2, MAX_SIGNALS = 65 };

void keeper_link_init(struct keeper_link *link, int socket)
{
	memset(link, 0, sizeof(*link));
	link->socket = socket;
	for (int i = 0; i < PROTO_MAX_FDS; i++)
		link->fd[i] = -1;
}

static void drop_fds(struct keeper_link *link)
{
	for (int i = 0; i < PROTO_MAX_FDS; i++) {
		cleanup_fd(&link->fd[i]);
		link->fd[i] = -1;
	}
}

int keeper_link_take_fd(struct keeper_link *link, unsigned int i)
{
	int fd = i < PROTO_MAX_FDS ? link->fd[i] : -1;

	if (fd >= 0)
		link->fd[i] = -1;
	return fd;
}

static void note_gone(struct keeper_link *link)
{
	uint64_t how = link->reply.value[0];

	link->target_execed = how == PROTO_GONE_EXEC;
	link->target_signal = how < MAX_SIGNALS ? (unsigned int)how : 0;
}

/* 1 a reply lies in link->reply, 0 a note was taken, -errno. */
static int receive(struct keeper_link *link)
{
	int got;

	drop_fds(link);
	got = proto_receive(link->socket, &link->reply, link->payload, link->fd);
	if (got <= 0)
		return got ? got : -EPIPE;
	if (link->reply.type == PROTO_NOTE_STOP)
		link->stop_wanted = true;
	else if (link->reply.type == PROTO_NOTE_SNAPSHOT)
		link->snapshot_wanted = true;
	else if (link->reply.type == PROTO_NOTE_ENDING)
		link->target_ending = true;
	else if (link->reply.type == PROTO_NOTE_GONE)
		note_gone(link);
	else
		return 1;
	if (link->reply.type == PROTO_NOTE_GONE && !link->target_gone) {
		link->target_gone = true;
		memcpy(link->became, link->reply.text, sizeof(link->became));
		link->became[sizeof(link->became) - 1] = '\0';
	}
	return 0;
}

/* Waits for a message. 1 there is one, 0 not yet, -EPIPE. */
static int wait_readable(const struct keeper_link *link, int milliseconds)
{
	struct pollfd wait = { .fd = link->socket, .events = POLLIN };
	int got = poll(&wait, 1, milliseconds);

	return got < 0 ? (errno == EINTR ? 0 : -errno) : got;
}

int keeper_link_call(struct keeper_link *link, enum proto_type type,
		     const uint64_t value[PROTO_ASKED], const void *payload, size_t bytes)
{
	struct proto_message request = { .type = type, .payload_bytes = (uint32_t)bytes };
	int got;

	if (link->busy)
		return -EBUSY;
	link->busy = true;
	if (value)
		memcpy(request.value, value, PROTO_ASKED * sizeof(*value));
	got = proto_send(link->socket, &request, payload, NULL);
	while (got == 0) {
		got = wait_readable(link, link->idle ? IDLE_MS : -1);
		if (got == 0 && link->idle)
			link->idle(link->context);
		if (got > 0)
			got = receive(link);
	}
	link->busy = false;
	if (got < 0)
		return got;
	return link->reply.type == (uint32_t)type ? link->reply.status : -EPROTO;
}

int keeper_link_poll(struct keeper_link *link, int milliseconds)
{
	int got = wait_readable(link, milliseconds);

	while (got > 0) {
		got = receive(link);
		if (got > 0)
			return -EPROTO;
		if (got == 0)
			got = wait_readable(link, 0);
	}
	return got;
}
