/* SPDX-License-Identifier: MIT */
/*
 * slow_leak.c - a leak of 100 blocks of 64 bytes a second beside heavy churn.
 *
 * Commands: 'c' prints "check ok LEAKED"; 'q' ends.
 */
#include "tests/victims/victim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define LEAKS_A_SECOND	100
#define CHURNS		2000	/* a leak */

static atomic_bool ending;
static atomic_ulong leaked;
static void *volatile keep[1u << 20];

static VICTIM_FRAME void leak_slowly(void)
{
	unsigned long at = atomic_fetch_add(&leaked, 1);

	keep[at % (sizeof(keep) / sizeof(keep[0]))] = victim_seen(malloc(victim_size(64)));
}

static VICTIM_FRAME void churn(void)
{
	free(victim_seen(malloc(victim_size(4096))));
}

static void *work(void *argument)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / LEAKS_A_SECOND };

	while (!atomic_load(&ending)) {
		leak_slowly();
		for (int i = 0; i < CHURNS; i++)
			churn();
		(void)nanosleep(&pause, NULL);
	}
	return argument;
}

int main(void)
{
	pthread_t thread;
	char command;

	victim_setup();
	if (pthread_create(&thread, NULL, work, NULL))
		victim_fail("no thread");
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'c')
			victim_say("check ok %lu\n", atomic_load(&leaked));
	atomic_store(&ending, true);
	(void)pthread_join(thread, NULL);
	return 0;
}
