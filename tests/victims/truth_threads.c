/* SPDX-License-Identifier: MIT */
/*
 * truth_threads.c - threads that allocate, and free each other's blocks.
 *
 * Each thread runs a deterministic script from its own seed. Some of its blocks
 * it frees itself, some it hands to its neighbour, which frees or reallocates
 * them, some it keeps. The figures are sums, so they are the same however the threads are
 * scheduled; only the peak depends on the order, and is not claimed.
 * Threads exist before the window: creating one allocates in libc.
 * Options: --threads=N (4), --rounds=N (2000). Commands: 'g' runs, 'q' ends.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <pthread.h>
#include <stdlib.h>

#define MAX_THREADS	64
#define QUEUE		256
#define KEPT		64

/* Blocks on their way to the thread that will free them. */
struct mailbox {
	pthread_mutex_t lock;
	struct truth_block block[QUEUE];
	int count;
};

struct worker {
	pthread_t thread;
	struct worker *neighbour;
	struct mailbox mailbox;
	struct truth_block kept[KEPT];
	int kept_count;
	unsigned random;
};

static struct worker workers[MAX_THREADS];
static int thread_count;
static long rounds;
static pthread_barrier_t start, done;

static unsigned next_random(struct worker *worker)
{
	worker->random = worker->random * 1103515245u + 12345u;
	return worker->random >> 8;
}

/* 0 when the neighbour's mailbox is full: then the block stays ours. */
static int post(struct worker *to, const struct truth_block *block)
{
	int posted = 0;

	pthread_mutex_lock(&to->mailbox.lock);
	if (to->mailbox.count < QUEUE) {
		to->mailbox.block[to->mailbox.count++] = *block;
		posted = 1;
	}
	pthread_mutex_unlock(&to->mailbox.lock);
	return posted;
}

static struct truth_block fetch(struct worker *worker)
{
	struct truth_block block = { 0 };

	pthread_mutex_lock(&worker->mailbox.lock);
	if (worker->mailbox.count > 0)
		block = worker->mailbox.block[--worker->mailbox.count];
	pthread_mutex_unlock(&worker->mailbox.lock);
	return block;
}

VICTIM_FRAME static void free_foreign(struct worker *worker)
{
	struct truth_block block = fetch(worker);
	TRUTH_FUNCTION();

	TRUTH_FREE(&block, free);
}

VICTIM_FRAME static void realloc_foreign(struct worker *worker)
{
	struct truth_block block = fetch(worker);
	size_t size = 16 + next_random(worker) % 3000;
	TRUTH_FUNCTION();

	if (!block.p)
		return;
	TRUTH_REALLOC(&block, size, realloc(block.p, size));
	TRUTH_FREE(&block, free);
}

VICTIM_FRAME static void hand_over(struct worker *worker)
{
	struct truth_block block = { 0 };
	size_t size = 8 + next_random(worker) % 2000;
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, size, malloc(size));
	if (!post(worker->neighbour, &block))
		TRUTH_FREE(&block, free);
}

VICTIM_FRAME static void free_own(struct worker *worker)
{
	struct truth_block block = { 0 };
	size_t size = 8 + next_random(worker) % 500;
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, size, calloc(1, size));
	TRUTH_FREE(&block, free);
}

VICTIM_FRAME static void keep_one(struct worker *worker)
{
	TRUTH_FUNCTION();

	if (worker->kept_count == KEPT)
		return;
	TRUTH_ALLOC(&worker->kept[worker->kept_count++], 333, malloc(victim_size(333)));
}

VICTIM_FRAME static void round_of(struct worker *worker)
{
	TRUTH_FUNCTION();

	switch (next_random(worker) % 5) {
	case 0:
		TRUTH_CALL(free_foreign(worker));
		break;
	case 1:
		TRUTH_CALL(realloc_foreign(worker));
		break;
	case 2:
		TRUTH_CALL(free_own(worker));
		break;
	case 3:
		TRUTH_CALL(keep_one(worker));
		break;
	default:
		TRUTH_CALL(hand_over(worker));
	}
}

VICTIM_FRAME static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	TRUTH_FUNCTION();

	pthread_barrier_wait(&start);
	for (long i = 0; i < rounds; i++)
		TRUTH_CALL(round_of(worker));
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&start);	/* stay until the end: an exit would free in libc */
	return NULL;
}

static void workers_start(void)
{
	for (int i = 0; i < thread_count; i++) {
		workers[i].random = (unsigned)i + 1;
		workers[i].neighbour = &workers[(i + 1) % thread_count];
		pthread_mutex_init(&workers[i].mailbox.lock, NULL);
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			victim_fail("pthread_create");
	}
}

int main(int argc, char *argv[])
{
	struct truth_claims claims = { .totals = 1, .peaks = 0 };

	(void)argc;
	victim_setup();
	thread_count = (int)victim_number(argv, "threads", 4);
	rounds = victim_number(argv, "rounds", 2000);
	if (thread_count < 1 || thread_count > MAX_THREADS)
		victim_fail("--threads=1..64");
	pthread_barrier_init(&start, NULL, (unsigned)thread_count + 1);
	pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1);
	workers_start();
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&done);
	truth_print(claims);
	while (victim_await() != 'q')
		;
	return 0;
}
