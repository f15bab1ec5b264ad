/* SPDX-License-Identifier: MIT */
/*
 * load.c - threads that compute and allocate, in phases, or wait.
 *
 *	load --threads=N --work=N
 *
 * Each thread allocates and frees blocks of 24 to 1,500 bytes, some of which stay for a while;
 * between two allocations it computes for --work turns (200). Commands: 'r' all threads run, 'i'
 * all wait in one of three ways (futex, poll, read), "check ok" when they do; 'c' waits until each
 * has gone round 10 times more; 'n' says how many rounds there were, "rounds ok N"; 'q' ends and
 * prints "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS	64
#define HELD		64
#define ROUND		1000

struct worker {
	pthread_t thread;
	int number;
	int gate[2];		/* a byte: go on */
	atomic_ulong rounds;
	atomic_int waits;
};

static struct worker workers[MAX_THREADS];
static atomic_int running, stop, failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long threads, work;

static unsigned int next_random(unsigned int *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

static VICTIM_FRAME void compute(long turns)
{
	for (long i = 0; i < turns; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
}

static VICTIM_FRAME unsigned char *small_block(size_t size)
{
	return victim_seen(malloc(victim_size(size)));
}

static VICTIM_FRAME unsigned char *large_block(size_t size)
{
	return victim_seen(malloc(victim_size(size)));
}

static void one_round(unsigned int *random)
{
	unsigned char *held[HELD] = { NULL };

	for (int i = 0; i < ROUND; i++) {
		unsigned int r = next_random(random) >> 8, at = r % HELD;

		if (held[at] && held[at][0] != (unsigned char)at)
			atomic_fetch_add(&failures, 1);
		free(held[at]);
		held[at] = r % 8 ? small_block(24 + r % 300) : large_block(500 + r % 1000);
		held[at][0] = (unsigned char)at;
		compute(work);
	}
	for (int i = 0; i < HELD; i++)
		free(held[i]);
}

static void wait_on_futex(void)
{
	pthread_mutex_lock(&lock);
	while (!atomic_load(&running) && !atomic_load(&stop))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void wait_here(struct worker *w)
{
	struct pollfd gate = { .fd = w->gate[0], .events = POLLIN };
	char byte;

	atomic_store(&w->waits, 1);
	if (w->number % 3 == 0)
		wait_on_futex();
	if (w->number % 3 == 1)
		poll(&gate, 1, -1);
	if (read(w->gate[0], &byte, 1) != 1)
		victim_fail("read");
	atomic_store(&w->waits, 0);
}

static void *worker_main(void *context)
{
	struct worker *w = context;
	unsigned int random = (unsigned int)w->number + 1;

	while (!atomic_load(&stop)) {
		if (atomic_load(&running))
			one_round(&random);
		else
			wait_here(w);
		atomic_fetch_add(&w->rounds, 1);
	}
	return NULL;
}

static void set_running(int value)
{
	pthread_mutex_lock(&lock);
	if (atomic_exchange(&running, value) != value || atomic_load(&stop))
		for (long i = 0; value && i < threads; i++)
			if (write(workers[i].gate[1], "", 1) != 1)
				victim_fail("write");
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void await_all_waiting(void)
{
	for (long i = 0; i < threads; i++)
		while (!atomic_load(&workers[i].waits))
			poll(NULL, 0, 1);
	poll(NULL, 0, 20);	/* until it has also gone to sleep: nothing depends on it */
	victim_say("check ok\n");
}

static void await_rounds(void)
{
	for (long i = 0; i < threads; i++) {
		unsigned long goal = atomic_load(&workers[i].rounds) + 10;

		while (atomic_load(&workers[i].rounds) < goal)
			poll(NULL, 0, 1);
	}
	victim_say("check %s\n", atomic_load(&failures) ? "failed" : "ok");
}

static void say_rounds(void)
{
	unsigned long sum = 0;

	for (long i = 0; i < threads; i++)
		sum += atomic_load(&workers[i].rounds);
	victim_say("rounds ok %lu\n", sum);
}

static void command(char what)
{
	if (what == 'n')
		say_rounds();
	if (what == 'r')
		set_running(1);
	if (what == 'i') {
		set_running(0);
		await_all_waiting();
	}
	if (what == 'c')
		await_rounds();
}

int main(int argc, char *argv[])
{
	char what;

	(void)argc;
	victim_setup();
	threads = victim_number(argv, "threads", 2);
	work = victim_number(argv, "work", 200);
	if (threads < 1 || threads > MAX_THREADS)
		victim_fail("--threads=1..64");
	for (long i = 0; i < threads; i++) {
		workers[i].number = (int)i;
		if (pipe(workers[i].gate) < 0)
			victim_fail("pipe");
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	victim_ready();
	while ((what = victim_await()) != 'q')
		command(what);
	atomic_store(&stop, 1);
	set_running(1);
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	victim_say("verdict %s\n", atomic_load(&failures) ? "failed" : "ok");
	return atomic_load(&failures) ? 1 : 0;
}
