/* SPDX-License-Identifier: MIT */
/*
 * transfers.c - threads whose large writes and receives wait for the other side half of the time.
 *
 *	transfers [--threads=N] [--rest=MILLISECONDS] [--looked-at=sigsys|filter]
 *
 * looked-at: it handles SIGSYS, or has a filter of system calls that lets all pass.
 * Each is one block through a pipe or a socket, for which the other side takes its time; then the
 * thread rests for as long. One that ends before the whole block was moved is short: nothing but a
 * signal, or who stops the thread, makes it that. Commands: 'c' waits until all threads have moved
 * another block, "check ok N of M short"; 'q' ends.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 512 * 1024, PART = 16 * 1024, PART_US = 1000, MAX_THREADS = 64 };

struct mover {
	pthread_t thread, other;
	int end[2];
	ssize_t (*move)(int fd, char *block);
	atomic_ulong moved, shorts;
};

static struct mover mover[MAX_THREADS];
static long threads, rest_ms;

static int open_pipe(int end[2])
{
	int pipe_end[2] = { -1, -1 }, error = pipe(pipe_end);

	end[0] = pipe_end[1];
	end[1] = pipe_end[0];
	return error;
}

static int open_socket(int end[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, end);
}

static ssize_t write_block(int fd, char *block)
{
	return write(fd, block, BLOCK);
}

static ssize_t send_block(int fd, char *block)
{
	return send(fd, block, BLOCK, 0);
}

static ssize_t receive_block(int fd, char *block)
{
	return recv(fd, block, BLOCK, MSG_WAITALL);
}

/* Takes what comes, a part after the other. */
static void *take(void *argument)
{
	struct mover *m = argument;
	char part[PART];

	while (read(m->end[1], part, sizeof(part)) > 0)
		(void)usleep(PART_US);
	return NULL;
}

/* Gives a block in parts; as much again only if the mover has what it lacks. */
static void *give(void *argument)
{
	struct mover *m = argument;
	char part[PART];

	memset(part, 1, sizeof(part));
	while (write(m->end[1], part, sizeof(part)) > 0)
		(void)usleep(PART_US);
	return NULL;
}

static void *move_blocks(void *argument)
{
	struct mover *m = argument;

	for (;;) {
		char *block = victim_seen(calloc(1, victim_size(BLOCK)));
		ssize_t moved = m->move(m->end[0], block);

		if (moved < 0)
			victim_fail("a transfer failed");
		if (moved < BLOCK)
			atomic_fetch_add(&m->shorts, 1);
		atomic_fetch_add(&m->moved, 1);
		free(block);
		(void)usleep((useconds_t)(rest_ms * 1000));
	}
	return NULL;
}

static void begin(struct mover *m, long kind)
{
	static int (*const opens[])(int *) = { open_pipe, open_socket, open_socket };
	static ssize_t (*const moves[])(int, char *) = { write_block, send_block, receive_block };
	static void *(*const serves[])(void *) = { take, take, give };

	m->move = moves[kind];
	if (opens[kind](m->end) || pthread_create(&m->other, NULL, serves[kind], m) ||
	    pthread_create(&m->thread, NULL, move_blocks, m))
		victim_fail("no thread");
}

static unsigned long all_shorts(unsigned long *ret_moved)
{
	unsigned long shorts = 0;

	*ret_moved = 0;
	for (long i = 0; i < threads; i++) {
		shorts += atomic_load(&mover[i].shorts);
		*ret_moved += atomic_load(&mover[i].moved);
	}
	return shorts;
}

static void check(void)
{
	unsigned long before[MAX_THREADS], moved, shorts;

	for (long i = 0; i < threads; i++)
		before[i] = atomic_load(&mover[i].moved);
	for (long i = 0; i < threads; i++)
		while (atomic_load(&mover[i].moved) < before[i] + 2)
			(void)usleep(1000);
	shorts = all_shorts(&moved);
	victim_say("check ok %lu of %lu short\n", shorts, moved);
}

static void on_signal(int signal)
{
	(void)signal;
}

/* Gives memattach a reason to ask each thread. */
static void be_looked_at(const char *why)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { 1, &all };

	if (strcmp(why, "sigsys") == 0)
		(void)signal(SIGSYS, on_signal);
	else if (strcmp(why, "filter") == 0 &&
		 (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		victim_fail("no filter");
}

int main(int argc, char *argv[])
{
	char command;

	(void)argc;
	victim_setup();
	threads = victim_number(argv, "threads", 3);
	rest_ms = victim_number(argv, "rest", 40);
	if (threads < 1 || threads > MAX_THREADS)
		victim_fail("--threads");
	be_looked_at(victim_option(argv, "looked-at", ""));
	for (long i = 0; i < threads; i++)
		begin(&mover[i], i % 3);
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'c')
			check();
	return victim_interrupts() ? 1 : 0;
}
