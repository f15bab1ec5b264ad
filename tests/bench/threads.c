/* SPDX-License-Identifier: MIT */
/*
 * threads.c - eight threads as slots.c, 2,500 live blocks each; every fourth block goes
 * through a mailbox to whichever thread comes by next, and is freed there.
 *
 * Mailboxes are single words exchanged atomically: a lock would measure the scheduler.
 * Units are pairs of calls, all threads together.
 */
#include "tests/bench/bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 8u
#define SLOTS 2500u
#define MAILBOXES 64u

struct worker {
	pthread_t thread;
	uint64_t units, state;
	void *slots[SLOTS];
};

static struct worker workers[THREADS];
static _Atomic(void *) mailboxes[MAILBOXES];
static _Atomic uint64_t freed;
static pthread_barrier_t begin, end;

/* The block that lay there, if any, is now the caller's. */
static void *mail(void *block, uint64_t number)
{
	return atomic_exchange_explicit(&mailboxes[number % MAILBOXES], block,
					memory_order_acq_rel);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	uint64_t frees = 0;

	pthread_barrier_wait(&begin);
	for (uint64_t i = 0; i < w->units; i++) {
		void **slot = &w->slots[bench_random(&w->state) % SLOTS];
		void *old = i % 4 ? *slot : mail(*slot, i / 4);

		frees += old != NULL;
		free(old);
		*slot = bench_alloc(bench_size(&w->state), (unsigned int)i);
	}
	atomic_fetch_add(&freed, frees);
	pthread_barrier_wait(&end);
	return NULL;
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);
	int status;

	pthread_barrier_init(&begin, NULL, THREADS + 1);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i].units = b.units / THREADS;
		workers[i].state = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	bench_start(&b);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	status = bench_finish(&b, b.units / THREADS * THREADS, freed);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	return status;
}
