/* SPDX-License-Identifier: MIT */
/*
 * closers.c - threads that close descriptors which they did not open.
 *
 *	closers --file=NAME [--pause-us=N] [--openers=1]
 *	closers --file=NAME --aims=1
 *
 * One thread closes all descriptors above 2, again and again, with a pause in between (0); with
 * --openers others open NAME, to be read and written or to be read, and pipes, under the numbers
 * that get free. With --aims the thread puts NAME in the place of one file alone: the second
 * descriptor of a memfd of memattach's, by which dlopen reads and maps. Commands: 'g' lets them go,
 * 'p' holds them ("paused ok"), 'c' says "checked ok" if NAME is as it was written first and is
 * mapped nowhere, and how often a file was put in another's place.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/victims/victim.h"

enum { FIRST = 3, NUMBERS = 64, OPENERS = 2, THREADS = OPENERS + 1, FILE_BYTES = 1 << 16 };

static const char *name;
static long pause_us;
static int hits;
static int go, held;	/* held: threads that have noticed that they may not go */
static char content[FILE_BYTES], found[FILE_BYTES];

static void rest(long us)
{
	const struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	(void)nanosleep(&time, NULL);
}

static void wait_for_go(void)
{
	if (__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		return;
	(void)__atomic_add_fetch(&held, 1, __ATOMIC_ACQ_REL);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		rest(1000);
	(void)__atomic_sub_fetch(&held, 1, __ATOMIC_ACQ_REL);
}

static void *run_closer(void *unused)
{
	for (;;) {
		wait_for_go();
		for (int fd = FIRST; fd < NUMBERS; fd++)
			(void)close(fd);
		if (pause_us)
			rest(pause_us);
	}
	return unused;
}

static bool is_shim(int fd)
{
	char path[32], target[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 &&
	       strncmp(target, "/memfd:memattach-shim", 21) == 0;
}

/* Once dlopen has read the file's header, which is good, and before it maps what that says. */
static bool wait_until_read(int fd)
{
	off_t at = 0;

	while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) && is_shim(fd) && at == 0)
		at = lseek(fd, 0, SEEK_CUR);
	return at > 0;
}

static void *run_aim(void *unused)
{
	int file = open(name, O_RDWR | O_CLOEXEC), seen;

	if (file < 0 || dup2(file, NUMBERS) < 0 || close(file))
		victim_fail("no descriptor");
	for (;;) {
		seen = 0;
		wait_for_go();
		for (int fd = FIRST; fd < FIRST + 8; fd++)
			if (is_shim(fd) && ++seen == 2 && wait_until_read(fd) &&
			    dup2(NUMBERS, fd) == fd)
				(void)__atomic_add_fetch(&hits, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

static void *run_opener(void *unused)
{
	char byte;

	for (unsigned int turn = 0;; turn++) {
		int fd[2] = { -1, -1 };

		wait_for_go();
		if (turn % 3 == 2)
			(void)!pipe2(fd, O_CLOEXEC | O_NONBLOCK);
		else
			fd[0] = open(name, (turn % 3 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		if (fd[0] >= 0)
			(void)!pread(fd[0], &byte, 1, 0);
		for (int i = 0; i < 2; i++)
			if (fd[i] >= NUMBERS)	/* nobody else does */
				(void)close(fd[i]);
		free(victim_seen(malloc(victim_size(100))));
	}
	return unused;
}

static bool is_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool mapped = false;
	char line[512];

	if (!maps)
		victim_fail("no list of mappings");
	while (fgets(line, sizeof(line), maps))
		mapped = mapped || strstr(line, name);
	(void)fclose(maps);
	return mapped;
}

static const char *look(void)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat file;
	ssize_t got;

	if (fd < 0 || fstat(fd, &file))
		return "the program's file is gone";
	got = read(fd, found, sizeof(found));
	(void)close(fd);
	if (got != FILE_BYTES || file.st_size != FILE_BYTES || memcmp(content, found, FILE_BYTES))
		return "the program's file has changed";
	return is_mapped() ? "the program's file is mapped" : "ok";
}

static void hold(int threads)
{
	__atomic_store_n(&go, 0, __ATOMIC_RELEASE);
	while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) < threads)
		rest(1000);
	for (int fd = FIRST; fd < NUMBERS; fd++)	/* what the openers left */
		(void)close(fd);
}

static void obey(int threads)
{
	for (;;) {
		switch (victim_await()) {
		case 'g':
			__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
			break;
		case 'p':
			hold(threads);
			victim_say("paused ok\n");
			break;
		case 'c':
			victim_say("checked %s %d\n", look(), hits);
			break;
		case 'q':
			return;
		default:
			victim_fail("an unknown command");
		}
	}
}

int main(int argc, char *argv[])
{
	void *(*first)(void *) = victim_number(argv, "aims", 0) ? run_aim : run_closer;
	int threads = victim_number(argv, "openers", 0) ? THREADS : 1, fd;
	pthread_t thread;

	(void)argc;
	victim_setup();
	name = victim_option(argv, "file", NULL);
	pause_us = victim_number(argv, "pause-us", 0);
	memset(content, 0xa5, sizeof(content));
	fd = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || write(fd, content, FILE_BYTES) != FILE_BYTES || close(fd))
		victim_fail("no file");
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, i ? run_opener : first, NULL))
			victim_fail("no thread");
	hold(threads);
	victim_ready();
	obey(threads);
	_exit(victim_interrupts() ? 1 : 0);
}
