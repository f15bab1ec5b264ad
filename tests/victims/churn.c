/* SPDX-License-Identifier: MIT */
/*
 * churn.c - threads that are created, allocate and end without a pause.
 *
 *	churn --threads=N	how many live at a time (8)
 *
 * Each thread checks what it allocated. Commands: 'c' waits for 200 more
 * threads and prints "check ok"; 'q' ends and prints "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS	64

static atomic_int failures, stop;
static atomic_ulong ended;

static void *short_life(void *unused)
{
	unsigned char *block[20];

	(void)unused;
	for (size_t i = 0; i < 20; i++) {
		block[i] = malloc((size_t)24 << (i % 8));
		memset(block[i], (int)i, (size_t)24 << (i % 8));
	}
	for (size_t i = 0; i < 20; i++) {
		if (block[i][23] != (unsigned char)i)
			atomic_fetch_add(&failures, 1);
		free(block[i]);
	}
	atomic_fetch_add(&ended, 1);
	return NULL;
}

/* Keeps one short-lived thread alive at any time. */
static void *breeder(void *unused)
{
	pthread_t child;

	(void)unused;
	while (!atomic_load(&stop)) {
		if (pthread_create(&child, NULL, short_life, NULL) != 0)
			victim_fail("pthread_create");
		pthread_join(child, NULL);
	}
	return NULL;
}

static void check(void)
{
	unsigned long goal = atomic_load(&ended) + 200;

	for (int tries = 0; atomic_load(&ended) < goal && tries < 3000; tries++)
		poll(NULL, 0, 10);
	victim_say("check %s\n", atomic_load(&ended) >= goal ? "ok" : "failed");
}

int main(int argc, char *argv[])
{
	long threads = victim_number(argv, "threads", 8);
	pthread_t breeders[MAX_THREADS];

	(void)argc;
	victim_setup();
	if (threads < 1 || threads > MAX_THREADS)
		victim_fail("--threads=1..64");
	for (long i = 0; i < threads; i++)
		pthread_create(&breeders[i], NULL, breeder, NULL);
	victim_ready();
	while (victim_await() == 'c')
		check();
	atomic_store(&stop, 1);
	for (long i = 0; i < threads; i++)
		pthread_join(breeders[i], NULL);
	victim_say("verdict %s {\"ended\":%lu}\n", atomic_load(&failures) ? "failed" : "ok",
		   atomic_load(&ended));
	return atomic_load(&failures) ? 1 : 0;
}
