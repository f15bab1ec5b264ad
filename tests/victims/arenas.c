/* SPDX-License-Identifier: MIT */
/*
 * arenas.c - heaps with something in every kind of list, which tell about themselves.
 *
 * Each of --threads=N has an arena of its own, in it chunks in tcache, fastbins, the unsorted list,
 * small and large bins; main has two blocks with mappings of their own besides. Thread i (main: 0)
 * keeps CACHED + i chunks of a size in its tcache that nobody else has. At rest, nothing changes.
 * 'i' writes malloc_info(3) to the file --info, /proc/self/smaps to --smaps: "info ok";
 * 't' calls malloc_trim(0): "trim ok";
 * 'k' allocates KEPT blocks of ASKED bytes, never freed: "kept ok".
 */
#include <malloc.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/victims/victim.h"

#define MAX_THREADS	8
#define CACHED		2
#define CACHED_BYTES	0x3c8	/* a chunk of 0x3d0 */
#define FAST		12	/* seven of them go to the tcache */
#define ROUNDS		40
#define UNSORTED	6
#define KEPT		1000
#define ASKED		100

static pthread_barrier_t at_rest;
static FILE *info;
static char info_buffer[1 << 16];
static const char *smaps;
static volatile int stop;
static void *kept[KEPT];

static void *get(size_t bytes)
{
	void *block = victim_seen(malloc(victim_size(bytes)));

	if (!block)
		victim_fail("malloc");
	memset(block, 1, bytes);
	return block;
}

static void get_all(void **block, size_t bytes, int count)
{
	for (int i = 0; i < count; i++)
		block[i] = get(bytes);
	get(bytes);
}

/* Every step-th of them; every other leaves free chunks that have no free neighbour. */
static void free_some(void **block, int count, int step)
{
	for (int i = 0; i < count; i += step)
		free(block[i]);
}

static void leave_gaps(size_t bytes, int count)
{
	void *block[ROUNDS];

	get_all(block, bytes, count);
	free_some(block, count, 2);
}

static void fill(int number)
{
	void *fast[FAST], *cached[CACHED + MAX_THREADS], *large[UNSORTED];

	leave_gaps(2000, ROUNDS);		/* large */
	leave_gaps(1100, ROUNDS / 2);
	leave_gaps(300, ROUNDS);		/* tcache, then small */
	leave_gaps(9000, 6);
	free(get(100000));			/* sorts all of them into their bins */
	get_all(large, 40000, UNSORTED);
	get_all(fast, 40 + 16 * (size_t)(number % 3), FAST);
	get_all(cached, CACHED_BYTES, CACHED + number);
	free_some(cached, CACHED + number, 1);
	free_some(fast, FAST, 1);
	free_some(large, UNSORTED, 2);		/* nothing is allocated any more: they stay there */
}

static void *work(void *number)
{
	fill((int)(long)number);
	pthread_barrier_wait(&at_rest);
	while (!stop)
		pause();
	return NULL;
}

/* The same file anew, without a buffer from the heap. */
static void write_info(void)
{
	rewind(info);
	if (malloc_info(0, info) != 0 || fflush(info) != 0 || ftruncate(fileno(info), ftell(info)))
		victim_fail("malloc_info");
}

static void write_smaps(void)
{
	static char buffer[1 << 16];
	int from = open("/proc/self/smaps", O_RDONLY);
	int to = open(smaps, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t got;

	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)got) != got)
			victim_fail("smaps");
	close(from);
	close(to);
}

static void obey(char command)
{
	switch (command) {
	case 'i':
		write_info();
		write_smaps();
		victim_say("info ok\n");
		break;
	case 't':
		malloc_trim(0);
		victim_say("trim ok\n");
		break;
	case 'k':
		for (int i = 0; i < KEPT; i++)
			kept[i] = get(ASKED);
		victim_say("kept ok\n");
		break;
	}
}

int main(int argc, char *argv[])
{
	static pthread_t thread[MAX_THREADS];
	long threads = victim_number(argv, "threads", 3);
	char command;

	(void)argc;
	victim_setup();
	smaps = victim_option(argv, "smaps", "");
	info = fopen(victim_option(argv, "info", ""), "w");
	if (!info || threads >= MAX_THREADS ||
	    setvbuf(info, info_buffer, _IOFBF, sizeof(info_buffer)))
		victim_fail("--info, --threads");
	pthread_barrier_init(&at_rest, NULL, (unsigned int)threads + 1);
	get(300000);
	get(1000000);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)))
			victim_fail("pthread_create");
	pthread_barrier_wait(&at_rest);
	fill(0);
	obey('i');	/* whatever libc allocates for it once is there now */
	victim_ready();
	while ((command = victim_await()) != 'q')
		obey(command);
	_exit(0);
}
