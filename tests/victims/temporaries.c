/* SPDX-License-Identifier: MIT */
/*
 * temporaries.c - one thread whose blocks are temporary but for some, for --milliseconds=N: many of
 * them live at the moment when somebody looks, since work is done between malloc and free.
 */
#include "tests/victims/victim.h"

#include <stdlib.h>
#include <time.h>

#define KEPT 64

static void *kept[KEPT];

static void work(int amount)
{
	for (volatile int i = 0; i < amount; i++)
		;
}

VICTIM_FRAME static void hot(void)
{
	void *block = victim_seen(malloc(victim_size(50 + (size_t)rand() % 900)));

	work(rand() % 8000);
	free(block);
}

VICTIM_FRAME static void warm(void)
{
	void *block = victim_seen(malloc(victim_size(4000)));

	work(rand() % 20000);
	free(block);
}

VICTIM_FRAME static void keep(int at)
{
	free(kept[at]);
	kept[at] = victim_seen(malloc(victim_size(100 + (size_t)rand() % 100)));
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char *argv[])
{
	double end = now() + (double)victim_number(argv, "milliseconds", 500) / 1e3;

	(void)argc;
	srand((unsigned int)victim_number(argv, "seed", 1));
	while (now() < end) {
		hot();
		if (rand() % 4 == 0)
			warm();
		if (rand() % 50 == 0)
			keep(rand() % KEPT);
	}
	return 0;
}
