/* SPDX-License-Identifier: MIT */
/*
 * heartbeat.c - how long does a tool hold a process? Asked of the process itself.
 *
 *	heartbeat BUSY	four threads, main among them, that beat, and BUSY (0 to 8) more
 *			threads that call malloc and free as fast as they can
 *
 * A beat is: sleep for 100 us, allocate, free, look at the clock. The time between two
 * beats of a thread, where it is longer than 1.5 periods, is a gap and is kept. A thread
 * stopped for time T shows a gap between T and T + 100 us. Says "ready", and at SIGTERM
 * prints the gaps as JSON, in nanoseconds of CLOCK_MONOTONIC.
 *
 * Beats are real-time threads where that is allowed, so that waiting for a CPU that the
 * tool works on does not count as a stop. They sleep instead of spinning: a spinning one
 * would leave the tool no CPU, and the kernel stops it 50 ms in each second.
 */
#include "tests/bench/bench.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BEATERS 4u
#define BUSY_MAX 8u
#define PERIOD_NS 100000
#define GAPS 65536u
#define SLOTS 500u

struct gap {
	int64_t start, length;
};

struct beater {
	pthread_t thread;
	uint64_t state, beats, lost;	/* lost: gaps that found no room */
	unsigned int count;
	void *slots[SLOTS];
	struct gap gaps[GAPS];
};

static struct beater beaters[BEATERS + BUSY_MAX];
static volatile sig_atomic_t ended;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_term(int signal)
{
	(void)signal;
	ended = 1;
}

static void allocate(struct beater *b)
{
	void **slot = &b->slots[bench_random(&b->state) % SLOTS];

	free(*slot);
	*slot = bench_alloc(bench_size(&b->state), (unsigned int)b->state);
}

static void keep(struct beater *b, int64_t start, int64_t end)
{
	b->beats++;
	if (end - start <= PERIOD_NS + PERIOD_NS / 2)
		return;
	if (b->count == GAPS)
		b->lost++;
	else
		b->gaps[b->count++] = (struct gap){ start, end - start };
}

static void *beat(void *argument)
{
	const struct timespec period = { .tv_nsec = PERIOD_NS };
	struct beater *b = argument;
	int64_t last = now_ns();

	while (!ended) {
		int64_t now;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
		allocate(b);
		now = now_ns();
		keep(b, last, now);
		last = now;
	}
	return NULL;
}

static void *hurry(void *argument)
{
	while (!ended)
		allocate(argument);
	return NULL;
}

/* Whether the kernel granted it. */
static bool thread_start(struct beater *b, bool realtime)
{
	const struct sched_param priority = { .sched_priority = 1 };

	if (pthread_create(&b->thread, NULL, realtime ? beat : hurry, b))
		exit(1);
	return realtime && pthread_setschedparam(b->thread, SCHED_FIFO, &priority) == 0;
}

static void print(const struct beater *b, const char **separator)
{
	for (unsigned int i = 0; i < b->count; i++) {
		printf("%s[%lld, %lld]", *separator, (long long)b->gaps[i].start,
		       (long long)b->gaps[i].length);
		*separator = ",\n";
	}
}

static void report(bool realtime)
{
	uint64_t beats = 0, lost = 0;
	const char *separator = "";

	printf("{\"gaps\": [");
	for (unsigned int i = 0; i < BEATERS; i++) {
		print(&beaters[i], &separator);
		beats += beaters[i].beats;
		lost += beaters[i].lost;
	}
	printf("], \"period_ns\": %d, \"realtime\": %s, \"beats\": %llu, \"lost\": %llu}\n",
	       PERIOD_NS, realtime ? "true" : "false", (unsigned long long)beats,
	       (unsigned long long)lost);
}

int main(int argc, char **argv)
{
	const struct sched_param priority = { .sched_priority = 1 };
	unsigned long busy = argc == 2 ? strtoul(argv[1], NULL, 10) : BUSY_MAX + 1;
	bool realtime = true;

	if (busy > BUSY_MAX)
		return 2;
	signal(SIGTERM, on_term);
	for (unsigned int i = 0; i < BEATERS + busy; i++)
		beaters[i].state = i + 1;
	for (unsigned int i = 1; i < BEATERS; i++)
		realtime &= thread_start(&beaters[i], true);
	for (unsigned int i = 0; i < busy; i++)
		(void)thread_start(&beaters[BEATERS + i], false);
	realtime &= pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0;
	printf("ready\n");
	fflush(stdout);
	beat(&beaters[0]);
	for (unsigned int i = 1; i < BEATERS + busy; i++)
		pthread_join(beaters[i].thread, NULL);
	report(realtime);
	return 0;
}
