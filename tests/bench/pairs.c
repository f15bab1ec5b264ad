/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - BENCH_THREADS threads (an environment variable; 1) as slots.c, 20,000 live blocks each.
 *
 * Nothing is shared: what a call costs with more threads is what a tool adds. Units are pairs of
 * calls, all threads together.
 */
#include "tests/bench/bench.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 20000u
#define MOST 64u

struct worker {
	pthread_t thread;
	uint64_t units, state;
	void *slots[SLOTS];
};

static struct worker workers[MOST];
static pthread_barrier_t begin, end;

static void *work(void *argument)
{
	struct worker *w = argument;

	pthread_barrier_wait(&begin);
	for (uint64_t i = 0; i < w->units; i++) {
		void **slot = &w->slots[bench_random(&w->state) % SLOTS];

		free(*slot);
		*slot = bench_alloc(bench_size(&w->state), (unsigned int)i);
	}
	pthread_barrier_wait(&end);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *number = getenv("BENCH_THREADS");
	unsigned int threads = number ? (unsigned int)atoi(number) : 1;
	struct bench b = bench_begin(argc, argv);
	int status;

	if (threads == 0 || threads > MOST)
		return 2;
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_barrier_init(&end, NULL, threads + 1);
	for (unsigned int i = 0; i < threads; i++) {
		workers[i].units = b.units / threads;
		workers[i].state = i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	bench_start(&b);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	status = bench_finish(&b, b.units / threads * threads, 0);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return status;
}
