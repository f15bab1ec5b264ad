/* SPDX-License-Identifier: MIT */
/* filter_helper.c - both ends of the conversation; it is some flags and four numbers. */
#include "inject/keeper/filter_helper.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "inject/keeper/proto.h"

#define QUESTION		0x746c6966u	/* the type of both packets: none of the keeper's */
#define QUESTION_VERSION	2u		/* of what value[] holds */
#define ASK_SECONDS		20		/* for all of it; systemd has to start the helper */

enum { VALUE_VERSION, VALUE_FLAGS, VALUE_REFUSED, VALUE_HELD_US, VALUE_COUNT };
enum {
	FLAG_FILTERED = 1u << 0,
	FLAG_ALLOWED = 1u << 1,
	FLAG_READV = 1u << 2,
	FLAG_WAIT = 1u << 3,
	FLAG_GETTID = 1u << 4,
	FLAG_COPY = 1u << 5,
	FLAG_PRCTL = 1u << 6,
	FLAG_LEAVE = 1u << 7,
	FLAG_CLOSE = 1u << 8,
	FLAG_DLCLOSE = 1u << 9,
	FLAG_RESTART = 1u << 10,
};

/* One conversation a process at a time: the room is not on the stack. */
static uint8_t payload[PROTO_MAX_PAYLOAD];

static int receive(int socket, struct proto_message *message, int fds[PROTO_MAX_FDS])
{
	int got = proto_receive(socket, message, payload, fds);

	if (got <= 0)
		return got == -EAGAIN ? -ETIME : got ? got : -EPIPE;
	return message->type == QUESTION && message->value[VALUE_VERSION] == QUESTION_VERSION ?
		       0 :
		       -EPROTO;
}

static void close_all(int fds[PROTO_MAX_FDS])
{
	for (unsigned int i = 0; i < PROTO_MAX_FDS; i++)
		cleanup_fd(&fds[i]);
}

/* ---- who asks ---- */

static struct seccomp_verdict unpack(const struct proto_message *answer)
{
	uint64_t flags = answer->value[VALUE_FLAGS];

	return (struct seccomp_verdict){
		.filtered = flags & FLAG_FILTERED,
		.allowed = flags & FLAG_ALLOWED,
		.may_readv = flags & FLAG_READV,
		.may_wait = flags & FLAG_WAIT,
		.may_gettid = flags & FLAG_GETTID,
		.may_copy = flags & FLAG_COPY,
		.may_prctl = flags & FLAG_PRCTL,
		.may_leave = flags & FLAG_LEAVE,
		.may_close = flags & FLAG_CLOSE,
		.may_dlclose = flags & FLAG_DLCLOSE,
		.may_restart = flags & FLAG_RESTART,
		.refused = (int32_t)answer->value[VALUE_REFUSED],
		.refused_leaving = (int32_t)(answer->value[VALUE_REFUSED] >> 32),
		.held_us = answer->value[VALUE_HELD_US],
		.count = (int)answer->value[VALUE_COUNT],
	};
}

/* What it says is believed, so it must be the administrator's, or our own. */
static int check_peer(int socket)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
		return -errno;
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : -EPERM;
}

static int open_connection(const char *path, int *ret)
{
	struct timeval limit = { .tv_sec = ASK_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return errno == EAGAIN ? -ETIME : -errno;
	error = check_peer(fd);
	if (error)
		return error;
	*ret = fd;
	fd = -1;
	return 0;
}

int filter_helper_ask(const char *path, const struct pidref *target, struct seccomp_verdict *ret)
{
	struct proto_message message = { .type = QUESTION, .fd_count = 1,
					 .value[VALUE_VERSION] = QUESTION_VERSION };
	int fds[PROTO_MAX_FDS];
	_cleanup_fd_ int fd = -1;
	int error = open_connection(path, &fd);

	if (!error)
		error = proto_send(fd, &message, NULL, &target->fd);
	if (error)
		return error == -EAGAIN ? -ETIME : error;
	error = receive(fd, &message, fds);
	close_all(fds);
	if (!error)
		error = message.status;
	if (!error)
		*ret = unpack(&message);
	return error;
}

/* ---- who answers ---- */

/* The number of a pidfd's process, here; -ESRCH it has been reaped or is not one of ours. */
static pid_t pidfd_number(int pidfd)
{
	_cleanup_file_ FILE *file = NULL;
	char path[48], line[128];
	int pid = -ESRCH;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	file = fopen(path, "re");
	if (!file)
		return -EBADF;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "Pid:", 4) == 0)
			pid = (int)strtol(line + 4, NULL, 10);
	return pid > 0 ? pid : -ESRCH;
}

static void pack(const struct seccomp_verdict *verdict, struct proto_message *answer)
{
	answer->value[VALUE_FLAGS] = (verdict->filtered ? FLAG_FILTERED : 0) |
				     (verdict->allowed ? FLAG_ALLOWED : 0) |
				     (verdict->may_readv ? FLAG_READV : 0) |
				     (verdict->may_wait ? FLAG_WAIT : 0) |
				     (verdict->may_gettid ? FLAG_GETTID : 0) |
				     (verdict->may_copy ? FLAG_COPY : 0) |
				     (verdict->may_prctl ? FLAG_PRCTL : 0) |
				     (verdict->may_leave ? FLAG_LEAVE : 0) |
				     (verdict->may_close ? FLAG_CLOSE : 0) |
				     (verdict->may_dlclose ? FLAG_DLCLOSE : 0) |
				     (verdict->may_restart ? FLAG_RESTART : 0);
	answer->value[VALUE_REFUSED] = (uint32_t)verdict->refused |
				       (uint64_t)verdict->refused_leaving << 32;
	answer->value[VALUE_HELD_US] = verdict->held_us;
	answer->value[VALUE_COUNT] = (uint64_t)verdict->count;
}

int filter_helper_answer(int socket)
{
	struct proto_message message, answer = { .type = QUESTION,
						 .value[VALUE_VERSION] = QUESTION_VERSION };
	struct seccomp_verdict verdict;
	int fds[PROTO_MAX_FDS];
	int error = receive(socket, &message, fds);
	pid_t pid = error ? error : pidfd_number(fds[0]);

	if (pid > 0) {
		verdict = seccomp_check(pid);
		/* A number that still is the pidfd's was so all the time. */
		if (pidfd_number(fds[0]) != pid)
			pid = -ESRCH;
		pack(&verdict, &answer);
	}
	if (!error)
		close_all(fds);
	if (pid < 0)
		answer.status = pid;
	return error ? error : proto_send(socket, &answer, NULL, NULL);
}
