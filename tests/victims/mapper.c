/* SPDX-License-Identifier: MIT */
/*
 * mapper.c - threads that map memory all the time, wherever the kernel puts it, and unmap it again.
 *
 *	mapper [THREADS]
 *
 * Each thread has some mappings of its own at any time, in each of which it has written where it
 * is; before it unmaps one it looks. 'c' says how many went by, and "check ok" if every one of them
 * held what was written there.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/victims/victim.h"

enum { HELD = 24, PAGE = 4096, MOST_PAGES = 600, MAX_THREADS = 16 };

static unsigned long went_by, wrong;

struct held {
	uintptr_t *at;
	size_t bytes;
};

static void unmap(struct held *held)
{
	uintptr_t *last = held->at + held->bytes / sizeof(*held->at) - 1;

	if (*held->at != (uintptr_t)held->at || *last != (uintptr_t)held->at ||
	    munmap(held->at, held->bytes))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	held->at = NULL;
}

static void map(struct held *held, unsigned int *seed)
{
	held->bytes = (size_t)(1 + rand_r(seed) % MOST_PAGES) * PAGE;
	held->at = mmap(NULL, held->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (held->at == MAP_FAILED)
		victim_fail("mmap");
	held->at[0] = held->at[held->bytes / sizeof(*held->at) - 1] = (uintptr_t)held->at;
}

static void *go_on(void *number)
{
	const struct timespec pause = { 0, 50000 };
	unsigned int seed = (unsigned int)(uintptr_t)number;
	struct held held[HELD] = { { NULL, 0 } };

	for (unsigned int i = 0;; i++) {
		struct held *one = &held[rand_r(&seed) % HELD];

		if (one->at)
			unmap(one);
		else
			map(one, &seed);
		__atomic_add_fetch(&went_by, 1, __ATOMIC_RELAXED);
		if (i % 64 == 0)
			(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t thread;
	char command;

	victim_setup();
	for (intptr_t i = 1; i <= threads && i <= MAX_THREADS; i++)
		if (pthread_create(&thread, NULL, go_on, (void *)i))
			victim_fail("pthread_create");
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'c')
			victim_say("check %s %lu went by\n", wrong ? "WRONG" : "ok",
				   __atomic_load_n(&went_by, __ATOMIC_RELAXED));
	victim_say("verdict %s\n", wrong ? "WRONG" : "ok");
	return wrong != 0;
}
