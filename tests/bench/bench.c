/* SPDX-License-Identifier: MIT */
/*
 * bench.c - the shared part of the benchmark's programs.
 *
 * Each program times its own work, so that what a tool takes to start and to end does
 * not count as slowness of the program; measure.py times the whole command as well.
 * The figures go to a file: the standard output belongs to the tool. The file is written
 * without stdio, whose buffers would be allocations in the middle of what is counted.
 */
#include "tests/bench/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct bench bench_begin(int argc, char **argv)
{
	struct bench b = { .wait = argc == 4 && strcmp(argv[3], "wait") == 0 };

	if (argc < 3 || argc > 4 || (argc == 4 && !b.wait))
		_exit(2);
	b.units = strtoull(argv[1], NULL, 10);
	b.result = argv[2];
	return b;
}

static void say(const char *word)
{
	char byte;

	if (write(STDOUT_FILENO, word, strlen(word)) < 0 || read(STDIN_FILENO, &byte, 1) < 0)
		_exit(3);
}

void bench_start(struct bench *b)
{
	if (b->wait)
		say("ready\n");
	b->wall = seconds(CLOCK_MONOTONIC);
	b->cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static int write_result(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t written;

	if (fd < 0)
		return 1;
	written = write(fd, text, strlen(text));
	return close(fd) || written != (ssize_t)strlen(text);
}

/* Not getrusage: its maximum includes what the process was before its exec. */
static long peak_kib(void)
{
	char status[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, status, sizeof(status) - 1);
	const char *line;

	if (fd >= 0)
		close(fd);
	status[size > 0 ? size : 0] = '\0';
	line = strstr(status, "VmHWM:");
	return line ? strtol(line + strlen("VmHWM:"), NULL, 10) : 0;
}

int bench_finish(const struct bench *b, uint64_t allocs, uint64_t frees)
{
	double wall = seconds(CLOCK_MONOTONIC) - b->wall;
	double total = seconds(CLOCK_PROCESS_CPUTIME_ID);
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"wall\": %.9f, \"cpu\": %.9f, \"cpu_total\": %.9f, \"rss_kib\": %ld, "
		 "\"allocs\": %llu, \"frees\": %llu}\n",
		 wall, total - b->cpu, total, peak_kib(),
		 (unsigned long long)allocs, (unsigned long long)frees);
	if (write_result(b->result, text))
		return 1;
	if (b->wait)
		say("done\n");
	return 0;
}

/* xorshift64* */
uint64_t bench_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/*
 * Multiples of 16: with every size, the interpreter of heaptrack 1.4.0 uses all memory and
 * dies of bad_alloc once there are some 150,000 different pairs of size and stack.
 */
size_t bench_size(uint64_t *state)
{
	uint64_t r = bench_random(state);
	size_t octave = (size_t)16 << ((r >> 32) & 7);

	return octave + (r & (octave - 1) & ~(size_t)15);
}

static void *descend_left(size_t size, unsigned int path, unsigned int left);

/*
 * Two functions of different frame sizes, so that 6 bits of the path make 64 stacks. The
 * empty assembly after each call keeps it from becoming a jump, which would leave no frame.
 */
__attribute__((noinline)) static void *descend_right(size_t size, unsigned int path,
						      unsigned int left)
{
	volatile char room[48];
	void *block;

	room[0] = (char)left;
	if (left == 0)
		block = malloc(size);
	else if (path & 1)
		block = descend_right(size, path >> 1, left - 1);
	else
		block = descend_left(size, path >> 1, left - 1);
	__asm__ volatile("" : : "r"(room) : "memory");
	return block;
}

__attribute__((noinline)) static void *descend_left(size_t size, unsigned int path,
						     unsigned int left)
{
	void *block;

	if (left == 0)
		block = malloc(size);
	else if (path & 1)
		block = descend_right(size, path >> 1, left - 1);
	else
		block = descend_left(size, path >> 1, left - 1);
	__asm__ volatile("" : : : "memory");
	return block;
}

/* The loop, this function and the last of the chain are three of the frames. */
void *bench_alloc(size_t size, unsigned int path)
{
	void *block = descend_left(size, path & 63, BENCH_FRAMES - 3);

	if (!block)
		_exit(4);
	*(char *)block = (char)size;
	return block;
}
