/* SPDX-License-Identifier: MIT */
/*
 * process_events.c - see process_events.h.
 *
 * Asking for events is answered at once or, where the kernel thinks that we may not ask, never.
 * Answers go to all listeners, as events do, so ours is the one with our number: a container that
 * shares the network with its host hears answers to others, and of processes that have other
 * numbers than in it. A filter in the kernel lets through what is about processes: those that make
 * threads all day long cost us nothing. The kernel counts its listeners, so we say when we stop
 * (Linux before 6.6 goes on counting one that was killed, and makes events for nobody: a
 * microsecond a fork).
 */
#include "src/several/process_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 100
#define ANSWER_TRIES 1000	/* events of others come before it */
#define KEPT_BYTES (4 << 20)
#define MESSAGE_BYTES 512u
#define AT_EVENT ((uint32_t)(NLMSG_HDRLEN + sizeof(struct cn_msg)))
#define AT_WHAT (AT_EVENT + (uint32_t)offsetof(struct proc_event, what))
/* the number'th of the numbers that an event has */
#define AT_NUMBER(number) (AT_EVENT + (uint32_t)offsetof(struct proc_event, event_data) + \
			   4 * (number))

/* A filter reads numbers as the network writes them. */
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define IF_EQUAL(number, then, other) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(number), then, other)

/* Forks and ends of processes are those with two equal numbers: of the thread and the process. */
static int set_filter(int fd)
{
	struct sock_filter code[] = {
		LOAD(AT_WHAT),
		IF_EQUAL(PROC_EVENT_NONE, 11, 0),	/* an answer: to "accept" */
		IF_EQUAL(PROC_EVENT_EXEC, 10, 0),
		IF_EQUAL(PROC_EVENT_FORK, 1, 0),
		IF_EQUAL(PROC_EVENT_EXIT, 4, 9),	/* else to "drop" */
		LOAD(AT_NUMBER(2)),			/* fork: of the child */
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		LOAD(AT_NUMBER(3)),
		BPF_STMT(BPF_JMP | BPF_JA, 3),		/* to "compare" */
		LOAD(AT_NUMBER(0)),			/* end */
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		LOAD(AT_NUMBER(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),	/* compare */
		BPF_STMT(BPF_RET | BPF_K, MESSAGE_BYTES),	/* accept */
		BPF_STMT(BPF_RET | BPF_K, 0),			/* drop */
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ?
	       -errno : 0;
}

/* number: the answer to it has it as well. */
static int process_events_ask(int fd, enum proc_cn_mcast_op what, uint32_t number)
{
	struct {
		struct nlmsghdr head;
		char rest[sizeof(struct cn_msg) + sizeof(what)];
	} message = { .head = { .nlmsg_len = NLMSG_HDRLEN + sizeof(message.rest),
				.nlmsg_type = NLMSG_DONE } };
	const struct cn_msg to = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .ack = number,
				   .len = sizeof(what) };

	memcpy(message.rest, &to, sizeof(to));
	memcpy(message.rest + sizeof(to), &what, sizeof(what));
	return send(fd, &message, message.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* Of the process connector's; event is in parts that are there. */
static bool take_event(const void *message, size_t size, struct proc_event *ret)
{
	struct nlmsghdr head;
	struct cn_msg from;

	if (size < AT_NUMBER(1))
		return false;
	memcpy(&head, message, sizeof(head));
	memcpy(&from, (const char *)message + NLMSG_HDRLEN, sizeof(from));
	if (head.nlmsg_type != NLMSG_DONE || from.id.idx != CN_IDX_PROC ||
	    from.id.val != CN_VAL_PROC)
		return false;
	memset(ret, 0, sizeof(*ret));
	size -= AT_EVENT;
	memcpy(ret, (const char *)message + AT_EVENT, size < sizeof(*ret) ? size : sizeof(*ret));
	return true;
}

struct process_event process_events_parse(const void *message, size_t size)
{
	struct process_event event = { .kind = PROCESS_OTHER };
	struct proc_event e;

	if (!take_event(message, size, &e))
		return event;
	if (e.what == PROC_EVENT_FORK &&
	    e.event_data.fork.child_pid == e.event_data.fork.child_tgid)
		event = (struct process_event){ .kind = PROCESS_FORK,
						.pid = e.event_data.fork.child_tgid,
						.parent = e.event_data.fork.parent_tgid };
	else if (e.what == PROC_EVENT_EXEC)
		event = (struct process_event){ .kind = PROCESS_EXEC,
						.pid = e.event_data.exec.process_tgid };
	else if (e.what == PROC_EVENT_EXIT &&
		 e.event_data.exit.process_pid == e.event_data.exit.process_tgid)
		event = (struct process_event){ .kind = PROCESS_EXIT,
						.pid = e.event_data.exit.process_tgid,
						.noticed = e.event_data.exit.exit_signal != 0 };
	return event;
}

/* A message: its size, 0 there is none now, -errno. */
static ssize_t receive(int fd, void *to, size_t room)
{
	struct sockaddr_nl from = { .nl_pid = 0 };
	socklen_t length = sizeof(from);
	ssize_t got;

	do
		got = recvfrom(fd, to, room, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
	while (got >= 0 && from.nl_pid != 0);	/* not from the kernel */
	if (got >= 0)
		return got;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* The kernel's to what was asked with that number (cn_proc_ack() in drivers/connector). */
static bool is_answer(const void *message, size_t size, uint32_t number, struct proc_event *ret)
{
	struct cn_msg from;

	if (!take_event(message, size, ret) || ret->what != PROC_EVENT_NONE)
		return false;
	memcpy(&from, (const char *)message + NLMSG_HDRLEN, sizeof(from));
	return from.ack == number + 1;	/* seq is the kernel's own */
}

/* The kernel's answer. 0, -ENOTSUP there is none, -errno. */
static int await_answer(int fd, uint32_t number)
{
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	char message[MESSAGE_BYTES];
	struct proc_event event;
	int tries = ANSWER_TRIES;

	while (tries-- > 0 && poll(&answer, 1, ANSWER_MS) > 0) {
		ssize_t got = receive(fd, message, sizeof(message));

		if (got < 0)
			return (int)got;
		if (is_answer(message, (size_t)got, number, &event))
			return event.event_data.ack.err ? -EPERM : 0;
	}
	return -ENOTSUP;
}

int process_events_open(void)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	const int kept = KEPT_BYTES;
	uint32_t number;
	int error, fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kept, sizeof(kept)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kept, sizeof(kept));
	error = set_filter(fd);
	if (!error && bind(fd, (const struct sockaddr *)&group, sizeof(group)) < 0)
		error = -errno;
	if (!error && getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid();
	if (!error)
		error = process_events_ask(fd, PROC_CN_MCAST_LISTEN, number);
	if (!error)
		error = await_answer(fd, number);
	if (!error)
		return fd;
	cleanup_fd(&fd);
	return error;
}

void process_events_close(int fd)
{
	if (fd < 0)
		return;
	(void)process_events_ask(fd, PROC_CN_MCAST_IGNORE, 0);
	cleanup_fd(&fd);
}

int process_events_next(int fd, struct process_event *ret)
{
	char message[MESSAGE_BYTES];
	ssize_t got = receive(fd, message, sizeof(message));

	if (got <= 0)
		return (int)got;
	*ret = process_events_parse(message, (size_t)got);
	return 1;
}
