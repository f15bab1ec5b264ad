/* SPDX-License-Identifier: MIT */
/*
 * heap_writer.c - a thread is held up in malloc_stats(), which writes with an arena's lock held.
 *
 * It writes to a pipe that is full and is read by the first thread only, which does not allocate
 * and obeys: 'c' reads until malloc_stats() has come back, and once more is in there: "checked ok".
 */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/victims/victim.h"

static int ends[2];
static atomic_int tid, returned, full;

static void fill(void)
{
	static const char bytes[512];

	if (fcntl(ends[1], F_SETFL, O_NONBLOCK))
		victim_fail("fcntl");
	for (size_t n = sizeof(bytes); n; n /= 2)
		while (write(ends[1], bytes, n) > 0)
			;
	if (fcntl(ends[1], F_SETFL, 0))
		victim_fail("fcntl");
}

static void *write_for_ever(void *unused)
{
	atomic_store(&tid, gettid());
	for (;;) {
		while (!atomic_load(&full))
			(void)usleep(1000);
		atomic_store(&full, 0);
		malloc_stats();
		atomic_fetch_add(&returned, 1);
	}
	return unused;
}

/* Does the other thread stand in a write? As the kernel says. */
static bool stands_in_write(void)
{
	char path[64], text[8] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(&tid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return strncmp(text, "1 ", 2) == 0;
}

static void let_in(void)
{
	fill();
	atomic_store(&full, 1);
	while (!stands_in_write())
		(void)usleep(1000);
}

static void let_out(void)
{
	int before = atomic_load(&returned);
	struct pollfd readable = { .fd = ends[0], .events = POLLIN };
	char bytes[4096];

	while (atomic_load(&returned) == before)
		if (poll(&readable, 1, 10) == 1 && read(ends[0], bytes, sizeof(bytes)) < 0)
			victim_fail("read");
}

int main(void)
{
	pthread_t thread;

	victim_setup();
	if (pipe2(ends, O_CLOEXEC) || dup2(ends[1], STDERR_FILENO) < 0 ||
	    pthread_create(&thread, NULL, write_for_ever, NULL))
		victim_fail("no thread");
	let_in();
	victim_ready();
	while (victim_await() != 'q') {
		let_out();
		let_in();
		victim_say("checked ok\n");
	}
	_exit(victim_interrupts() ? 1 : 0);
}
