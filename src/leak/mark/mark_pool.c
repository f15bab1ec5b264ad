/* SPDX-License-Identifier: MIT */
/*
 * mark_pool.c - runs the jobs of a phase by all workers.
 *
 * A worker takes the most urgent job that has work. One that finds none waits until another,
 * still busy, has made some, or all have found none: a worker leaves only after a look at
 * every job, later than all that it made itself, so when the last one leaves nothing is left.
 */
#include "src/leak/mark/mark_work.h"

#include <time.h>

#define NAP_NS	50000

struct pool_thread {
	struct worker *worker;
	mark_job *const *jobs;
	pthread_t thread;
	bool started;
};

uint64_t mark_take_chunk(struct marker *marker)
{
	uint64_t chunk;

	if (__atomic_load_n(&marker->next_chunk, __ATOMIC_RELAXED) >= marker->chunk_count)
		return BLOCK_NONE;
	chunk = __atomic_fetch_add(&marker->next_chunk, 1, __ATOMIC_RELAXED);
	return chunk < marker->chunk_count ? chunk : BLOCK_NONE;
}

static bool work_once(struct worker *worker, mark_job *const *jobs)
{
	for (; *jobs; jobs++)
		if ((*jobs)(worker))
			return true;
	return false;
}

static void nap(void)
{
	struct timespec time = { .tv_nsec = NAP_NS };

	nanosleep(&time, NULL);
}

static void work(struct worker *worker, mark_job *const *jobs)
{
	unsigned int *busy = &worker->marker->busy;

	for (;;) {
		while (work_once(worker, jobs))
			;
		if (!__atomic_sub_fetch(busy, 1, __ATOMIC_SEQ_CST))
			return;
		nap();
		/* Once it is 0 nobody is left who could make work, and it stays 0. */
		for (unsigned int now = __atomic_load_n(busy, __ATOMIC_SEQ_CST);;) {
			if (!now)
				return;
			if (__atomic_compare_exchange_n(busy, &now, now + 1, false,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				break;
		}
	}
}

static void *run(void *argument)
{
	struct pool_thread *thread = argument;

	work(thread->worker, thread->jobs);
	return NULL;
}

void mark_pool_run(struct marker *marker, mark_job *const *jobs)
{
	unsigned int others = marker->workers - 1;
	struct pool_thread thread[MARK_MAX_WORKERS];

	marker->next_chunk = 0;
	marker->busy = marker->workers;
	for (unsigned int i = 0; i < others; i++) {
		thread[i] = (struct pool_thread){ &marker->worker[i + 1], jobs, 0, false };
		thread[i].started = !pthread_create(&thread[i].thread, NULL, run, &thread[i]);
		/* Fewer threads are slower, nothing else. */
		if (!thread[i].started)
			__atomic_sub_fetch(&marker->busy, 1, __ATOMIC_SEQ_CST);
	}
	work(&marker->worker[0], jobs);
	for (unsigned int i = 0; i < others; i++)
		if (thread[i].started)
			pthread_join(thread[i].thread, NULL);
}
