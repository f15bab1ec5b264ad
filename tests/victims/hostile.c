/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - processes that work against whoever attaches to them.
 *
 *	hostile --kind=KIND
 *
 * swap		--file=PATH --open=path|read: becomes user 65534, opens PATH so, and puts that
 *		descriptor in the place of each new one as soon as it sees one.
 *		'n': takes back what it did, "next ok SWAPS", and the game begins anew
 * forge	'j', '0', '1', 'r', 'w' fill memattach's shared memory in here: the
 *		control block behind its first page, all of it with zeros, ones, noise, or
 *		the whole memory with noise; "forge ok". 'l' does 'r' all the time until 'x'
 * stop		stops the process (SIGSTOP) when it sees the shim's descriptor, 'n': once more
 * Commands of all: 'q' ends and prints "verdict ok".
 * It allocates nothing once it is ready: a forged control block is the target's
 * own misfortune, and what is tested here is that it is nobody else's.
 */
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NOBODY		65534
#define WATCHED		2	/* new descriptors: the shim's and the ring's */
#define CONTROL_BYTES	(128u << 10)
#define PAGE		4096u

static atomic_int armed, swaps, looping;
static int first_free;		/* the lowest descriptor that is free */

static void pause_us(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

static void start_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		victim_fail("pthread_create");
}

static int lowest_free(void)
{
	int fd = dup(STDIN_FILENO);

	if (fd < 0 || close(fd) < 0)
		victim_fail("dup");
	return fd;
}

/* --- swap ------------------------------------------------------------------- */

static int swap_fd;

static int is_ours(int fd)
{
	struct stat ours, other;

	return fstat(swap_fd, &ours) == 0 && fstat(fd, &other) == 0 &&
	       ours.st_ino == other.st_ino && ours.st_dev == other.st_dev;
}

/* Looks at one number at a time, so that either of memattach's two is hit. */
static void *swap_thread(void *unused)
{
	(void)unused;
	for (;;) {
		int turn = atomic_load(&armed);
		int fd = first_free + turn % WATCHED;

		if (!turn)
			pause_us(1000);
		else if (fcntl(fd, F_GETFD) >= 0 && dup2(swap_fd, fd) == fd) {
			atomic_fetch_add(&swaps, 1);
			atomic_store(&armed, 0);
		}
	}
	return NULL;
}

static void swap_back(int turn)
{
	atomic_store(&armed, 0);
	pause_us(5000);
	for (int i = 0; i < WATCHED; i++)
		if (is_ours(first_free + i))
			close(first_free + i);
	victim_say("next ok %d\n", atomic_load(&swaps));
	atomic_store(&armed, turn);
}

/* Without the capabilities of root, in a process that dies with the script all the same. */
static void become_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		victim_fail("setresuid");
}

static void run_swap(char *argv[])
{
	int flags = strcmp(victim_option(argv, "open", "path"), "path") == 0 ? O_PATH : O_RDONLY;
	int turn = 0;

	become_nobody();
	swap_fd = open(victim_option(argv, "file", ""), flags | O_CLOEXEC);
	if (swap_fd < 0)
		victim_fail("--file");
	first_free = lowest_free();
	start_thread(swap_thread);
	victim_ready();
	while (victim_await() == 'n')
		swap_back(++turn);
}

/* --- forge ------------------------------------------------------------------ */

struct range {
	uint64_t low, high;
};

/* memattach's writable memory in here; { 0, 0 }: none. No stdio: that would allocate. */
static struct range find_ring(void)
{
	static char text[1 << 16];
	size_t used = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct range range = { 0, 0 };

	for (ssize_t got = 1; got > 0 && used < sizeof(text) - 1; used += (size_t)got) {
		got = read(fd, text + used, sizeof(text) - 1 - used);
		if (got < 0)
			victim_fail("maps");
	}
	close(fd);
	text[used] = '\0';
	for (char *rest, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *at;

		if (!strstr(line, " rw-s ") || !strstr(line, "/memfd:memattach-ring"))
			continue;
		range.low = strtoull(line, &at, 16);
		range.high = strtoull(at + 1, NULL, 16);
	}
	return range;
}

static void fill(unsigned char *bytes, size_t size, char how)
{
	static uint64_t state = 88172645463325252ull;

	memset(bytes, how == '1' ? 0xff : 0, size);
	if (how == '0' || how == '1')
		return;
	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = (unsigned char)state;
	}
}

/* By the kernel, which fails where the memory has just gone. Bytes written. */
static uint64_t forge(char how)
{
	static unsigned char noise[CONTROL_BYTES];
	struct range ring = find_ring();
	uint64_t done = 0;

	if (how == 'j')
		ring.low += ring.low ? PAGE : 0;
	if (how != 'w' && ring.high > ring.low + CONTROL_BYTES)
		ring.high = ring.low + CONTROL_BYTES - (how == 'j' ? PAGE : 0);
	while (ring.low + done < ring.high) {
		uint64_t left = ring.high - ring.low - done;
		size_t size = left < sizeof(noise) ? (size_t)left : sizeof(noise);
		struct iovec from = { noise, size };
		struct iovec to = { (void *)(uintptr_t)(ring.low + done), size };
		ssize_t got;

		fill(noise, size, how);
		got = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
		if (got <= 0)
			break;
		done += (uint64_t)got;
	}
	return done;
}

static void *forge_thread(void *unused)
{
	(void)unused;
	for (;;) {
		if (!atomic_load(&looping) || !forge('r'))
			pause_us(1000);
	}
	return NULL;
}

static void run_forge(char *argv[])
{
	char command;

	(void)argv;
	start_thread(forge_thread);
	victim_ready();
	while ((command = victim_await()) != 'q') {
		uint64_t done = 1;

		if (command == 'l' || command == 'x')
			atomic_store(&looping, command == 'l');
		else
			done = forge(command);
		victim_say("forge %s %lu\n", done ? "ok" : "failed", (unsigned long)done);
	}
}

/* --- stop ------------------------------------------------------------------- */

static int is_shim(int fd)
{
	static const char wanted[] = "/memfd:memattach-shim";
	char link[32], name[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name)) >= (ssize_t)sizeof(wanted) &&
	       memcmp(name, wanted, sizeof(wanted) - 1) == 0;
}

/* Each time a little later than the last. */
static void stop_after(long us)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
	kill(getpid(), SIGSTOP);
}

static void *stop_thread(void *unused)
{
	(void)unused;
	for (;;) {
		int turn = atomic_load(&armed);

		if (!turn) {
			pause_us(1000);
			continue;
		}
		for (int i = 0; i < WATCHED; i++) {
			if (atomic_load(&armed) && is_shim(first_free + i)) {
				atomic_store(&armed, 0);
				stop_after((turn - 1) * 150L);
			}
		}
	}
	return NULL;
}

static void run_stop(char *argv[])
{
	int turn = 0;

	(void)argv;
	first_free = lowest_free();
	start_thread(stop_thread);
	victim_ready();
	while (victim_await() == 'n') {
		victim_say("next ok\n");
		atomic_store(&armed, ++turn);
	}
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(char *argv[]);
	} kinds[] = { { "swap", run_swap }, { "forge", run_forge }, { "stop", run_stop } };
	const char *kind = victim_option(argv, "kind", "");

	(void)argc;
	victim_setup();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].run(argv);
		victim_say("verdict ok\n");
		_exit(0);
	}
	victim_fail("unknown --kind");
}
