/* SPDX-License-Identifier: MIT */
/*
 * fuzz_keeper.c - an analyst that was taken over asks the keeper whatever it likes: any types, any
 * values, payloads and descriptors of any number, lengths that are not true. Each request that is
 * one gets one reply of its type, in order; after nonsense nobody is heard any more; no descriptor
 * is left, and how it ended is told.
 *
 * The target has ended, and is a zombie all the time: what is asked comes to where a target would
 * be touched, and touches none.
 *
 * Input: a request is a byte (type), one (payload, values, lies), then what these want.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/keeper/keeper.h"
#include "inject/keeper/proto.h"
#include "inject/snapshot/access_watch.h"

#define MOST_REQUESTS	16u	/* their replies find room in a socket */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

struct fuzz {
	struct input input;
	int analyst;
	uint32_t type[MOST_REQUESTS];	/* of those that are to be answered */
	uint32_t requests;
	bool finishes, nonsense;
	int status;
};
static struct target zombie = { .ref = { .pid = 0, .fd = -1 } };
static uint8_t payload[PROTO_MAX_PAYLOAD];

static void must(bool good)
{
	if (!good)
		abort();
}

static uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < input->size ? bytes : input->size;
	memcpy(&value, input->data, bytes);
	input->data += bytes;
	input->size -= bytes;
	return value;
}

/* ---- the target ---- */

/* It is opened while it lives, and stays our child that nobody waits for: its id is no other's. */
static void make_zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	must(pid > 0 && pidref_open(pid, &zombie.ref) == 0);
	must(target_open(&zombie.ref, &zombie) == 0);
	must(kill(pid, SIGKILL) == 0);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
}

static void must_be_zombie(void)
{
	siginfo_t info = { .si_pid = 0 };

	must(waitid(P_PID, (id_t)zombie.ref.pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	     info.si_pid == zombie.ref.pid);
}

static struct target open_again(void)
{
	struct target target = zombie;
	int *fds[] = { &target.ref.fd, &target.mem, &target.maps, &target.task };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, 0);
		must(*fds[i] >= 0);
	}
	target.pagemap = -1;
	return target;
}

/* ---- requests ---- */

/* A payload as long as some request wants it, or not; a few of its bytes are not 0. */
static uint32_t make_payload(struct input *input, unsigned int kind)
{
	const uint32_t bytes[] = { 0, sizeof(struct proto_load), sizeof(struct access_begin),
				   (uint32_t)take(input, 2) };

	memset(payload, 0, sizeof(payload));
	for (uint64_t pokes = kind ? take(input, 1) % 32 : 0; pokes > 0; pokes--) {
		size_t at = take(input, 2) % (sizeof(payload) - 8);
		uint64_t value = take(input, 4);

		memcpy(payload + at, &value, sizeof(value));
	}
	return bytes[kind];
}

/* A number, the id of the target, or one of a few bytes more. */
static uint64_t take_value(struct input *input)
{
	uint64_t how = take(input, 1);

	if (how == 0xff)
		return (uint64_t)zombie.ref.pid;
	return how >= 0xf0 ? take(input, 8) : how;
}

static bool is_request(uint32_t type)
{
	return type >= PROTO_HELLO && type <= PROTO_FINISH;
}

/* lie: the header says another length than the packet has. False: there is no more room. */
static bool ask(struct fuzz *f, struct proto_message *message, bool lie, bool with_fds)
{
	const int fds[] = { zombie.maps, zombie.task };
	int error;

	message->fd_count = with_fds ? 2 : 0;
	if (lie) {
		message->payload_bytes++;
		error = send(f->analyst, message, sizeof(*message), MSG_NOSIGNAL) < 0 ? -errno : 0;
	} else {
		error = proto_send(f->analyst, message, payload, fds);
	}
	must(error == 0 || error == -EAGAIN);
	if (error)
		return false;
	f->nonsense |= lie || !is_request(message->type);
	if (!f->nonsense && !f->finishes)
		f->type[f->requests++] = message->type;
	if (!f->nonsense && !f->finishes && message->type == PROTO_FINISH) {
		f->finishes = true;
		f->status = (int)message->value[0];
	}
	return true;
}

static void ask_all(struct fuzz *f)
{
	for (uint32_t i = 0; i < MOST_REQUESTS && f->input.size > 0; i++) {
		uint32_t type = (uint32_t)take(&f->input, 1) % (PROTO_TYPE_COUNT + 1);
		uint64_t how = take(&f->input, 1);
		struct proto_message message = { .type = type };

		for (int k = 0; k < PROTO_ASKED && how & 16; k++)
			message.value[k] = take_value(&f->input);
		message.payload_bytes = make_payload(&f->input, how & 3);
		if (!ask(f, &message, (how & 0xe0) == 0xe0, how & 8))
			return;
	}
}

/* ---- replies ---- */

static void hear_all(struct fuzz *f)
{
	struct proto_message message;
	int fds[PROTO_MAX_FDS];
	uint32_t heard = 0;

	while (proto_receive(f->analyst, &message, payload, fds) > 0) {
		for (int i = 0; i < PROTO_MAX_FDS; i++)
			cleanup_fd(&fds[i]);
		if (message.type > PROTO_FINISH)
			continue;	/* a note */
		must(heard < f->requests && message.type == f->type[heard]);
		must(message.status <= 0 && message.text[sizeof(message.text) - 1] == '\0');
		must(message.status == 0 || message.payload_bytes == 0);
		heard++;
	}
	must(heard == f->requests);
}

static int lowest_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	must(fd >= 0 && close(fd) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .input = { data, size } };
	struct keeper_options options = { .front = getppid(), .alone = true };
	struct keeper_result result;
	struct target target;
	int pair[2], free_fd;

	if (!zombie.ref.pid)
		make_zombie();
	free_fd = lowest_free_fd();
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	f.analyst = pair[0];
	options.socket = pair[1];
	must(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	ask_all(&f);
	must(shutdown(pair[0], SHUT_WR) == 0);
	target = open_again();
	(void)keeper_run(&target, &options, &result);
	hear_all(&f);
	must(result.analyst_died == !f.finishes && !result.dormant && !result.analyst_hung);
	must(!f.finishes || result.status == f.status);
	must(close(pair[0]) == 0 && close(pair[1]) == 0);
	must(lowest_free_fd() == free_fd);
	must_be_zombie();
	return 0;
}
