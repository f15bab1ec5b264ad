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
	struct bench b = { .threads = 1 };

	if (argc < 3 || argc > 5)
		_exit(2);
	b.units = strtoull(argv[1], NULL, 10);
	b.result = argv[2];
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "wait") == 0)
			b.wait = true;
		else
			b.threads = (unsigned int)strtoul(argv[i], NULL, 10);
	}
	if (b.threads < 1 || b.threads > BENCH_THREADS)
		_exit(2);
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

/*
 * The kernel adds a tick's worth late for a thread that runs on another CPU (seen with 6.18,
 * thread_group_cputime): what threads found for themselves is not.
 */
static double cpu_total(const struct bench *b)
{
	return b->threads_cpu > 0 ? b->cpu + b->threads_cpu :
				    seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static int finish(const struct bench *b, const struct bench_truth *t, const char *bytes)
{
	double wall = seconds(CLOCK_MONOTONIC) - b->wall;
	double total = cpu_total(b);
	char text[384];

	snprintf(text, sizeof(text),
		 "{\"wall\": %.9f, \"cpu\": %.9f, \"cpu_total\": %.9f, \"rss_kib\": %ld, "
		 "\"allocs\": %llu, \"frees\": %llu%s}\n",
		 wall, total - b->cpu, total, peak_kib(),
		 (unsigned long long)t->allocs, (unsigned long long)t->frees, bytes);
	if (write_result(b->result, text))
		return 1;
	if (b->wait)
		say("done\n");
	return 0;
}

int bench_finish(const struct bench *b, uint64_t allocs, uint64_t frees)
{
	const struct bench_truth truth = { .allocs = allocs, .frees = frees };

	return finish(b, &truth, "");
}

int bench_finish_truth(const struct bench *b, const struct bench_truth *truth)
{
	char bytes[96];

	snprintf(bytes, sizeof(bytes), ", \"alloc_bytes\": %llu, \"free_bytes\": %llu",
		 (unsigned long long)truth->alloc_bytes, (unsigned long long)truth->free_bytes);
	return finish(b, truth, bytes);
}

static struct bench_worker workers[BENCH_THREADS];
static pthread_barrier_t begin, end;

/* Reports tell the work by this frame. */
__attribute__((noinline)) static void *bench_thread(void *argument)
{
	struct bench_worker *w = argument;

	pthread_barrier_wait(&begin);
	w->cpu = -seconds(CLOCK_THREAD_CPUTIME_ID);
	w->work(w);
	w->cpu += seconds(CLOCK_THREAD_CPUTIME_ID);
	pthread_barrier_wait(&end);
	return NULL;
}

static int start_workers(const struct bench *b, void (*work)(struct bench_worker *w))
{
	pthread_barrier_init(&begin, NULL, b->threads + 1);
	pthread_barrier_init(&end, NULL, b->threads + 1);
	for (unsigned int i = 0; i < b->threads; i++) {
		struct bench_worker *w = &workers[i];

		w->bench = b;
		w->number = i;
		w->state = i + 1;
		w->work = work;
		if (pthread_create(&w->thread, NULL, bench_thread, w))
			return -1;
	}
	return 0;
}

static struct bench_truth sum_of_workers(struct bench *b)
{
	struct bench_truth sum = { .allocs = 0 };

	for (unsigned int i = 0; i < b->threads; i++) {
		const struct bench_truth *t = &workers[i].truth;

		sum.allocs += t->allocs;
		sum.frees += t->frees;
		sum.alloc_bytes += t->alloc_bytes;
		sum.free_bytes += t->free_bytes;
		b->threads_cpu += workers[i].cpu;
	}
	return sum;
}

int bench_run(struct bench *b, void (*work)(struct bench_worker *w))
{
	struct bench_truth truth;
	int status;

	if (start_workers(b, work))
		return 5;
	bench_start(b);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	truth = sum_of_workers(b);
	status = bench_finish_truth(b, &truth);
	for (unsigned int i = 0; i < b->threads; i++)
		pthread_join(workers[i].thread, NULL);
	return status;
}

uint64_t bench_share(const struct bench_worker *w)
{
	const struct bench *b = w->bench;

	return b->units / b->threads + (w->number < b->units % b->threads);
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
