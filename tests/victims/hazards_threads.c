/* SPDX-License-Identifier: MIT */
/*
 * hazards_threads.c - stacks and thread pointers that go and come again with another thread on
 * them; allocations while a thread ends; fork in the midst of threads; vfork.
 */
#include "tests/victims/hazards.h"

#include <alloca.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 60, CALLS = 20, FORKS = 12, VFORKS = 50, FORKING_THREADS = 3 };
#define OWN_STACK (256 * 1024)

static pthread_key_t key;

VICTIM_FRAME static void hazard_thread_ends(void *value)
{
	HAZARD_ALLOC(40);
	(void)value;
	hazard_sink++;
}

VICTIM_FRAME static int hazard_thread_even(int n)
{
	char *room = victim_seen(alloca((size_t)n * 16 + 16));

	room[0] = 1;
	HAZARD_ALLOC(41);
	return room[0] + hazard_sink;
}

VICTIM_FRAME static int hazard_thread_odd(int n)
{
	int room[n + 1];

	victim_seen(room);
	room[0] = 1;
	HAZARD_ALLOC(42);
	return room[0] + hazard_sink;
}

/* One function for both, so that the outer frames are the same. */
static void *thread_main(void *argument)
{
	int (*const work)(int) = argument;

	pthread_setspecific(key, &key);
	for (int i = 0; i < CALLS; i++)
		hazard_sink += work(i % 7);
	return NULL;
}

static void thread_run(int number, const pthread_attr_t *attributes)
{
	int (*work)(int) = number & 1 ? hazard_thread_odd : hazard_thread_even;
	pthread_t thread;

	if (pthread_create(&thread, attributes, thread_main, (void *)work) != 0 ||
	    pthread_join(thread, NULL) != 0)
		victim_fail("thread");
}

/* A stack of the program's own, unmapped when its thread has ended, and the next one there. */
static void own_stack_run(int number)
{
	static char *place;
	char *stack = mmap(place, OWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	pthread_attr_t attributes;

	if (stack == MAP_FAILED)
		victim_fail("mmap");
	place = stack;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, OWN_STACK);
	thread_run(number, &attributes);
	pthread_attr_destroy(&attributes);
	munmap(stack, OWN_STACK);
}

static void threads(void)
{
	for (int i = 0; i < THREADS; i++)
		thread_run(i, NULL);
	for (int i = 0; i < THREADS; i++)
		own_stack_run(i);
	hazard_did("hazard_thread_even", THREADS * CALLS);
	hazard_did("hazard_thread_odd", THREADS * CALLS);
	hazard_did("hazard_thread_ends", 2 * THREADS);
}

/* --- fork, vfork ------------------------------------------------------------------ */

/* The child allocates as well, in its own copy, where nothing is recorded. */
VICTIM_FRAME static void hazard_forks(int n)
{
	char *room = victim_seen(alloca((size_t)n * 16 + 16));
	pid_t child;

	room[0] = 1;
	HAZARD_ALLOC(43);
	child = fork();
	if (child < 0)
		victim_fail("fork");
	HAZARD_ALLOC(44);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	hazard_sink += room[0];
}

static void *forking_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < FORKS; i++)
		hazard_forks(i);
	return NULL;
}

static void forks(void)
{
	pthread_t thread[FORKING_THREADS];

	for (int i = 0; i < FORKING_THREADS; i++)
		if (pthread_create(&thread[i], NULL, forking_thread, NULL) != 0)
			victim_fail("thread");
	for (int i = 0; i < FORKING_THREADS; i++)
		pthread_join(thread[i], NULL);
	hazard_did("hazard_forks", 2 * FORKS * FORKING_THREADS);
}

/* In the parent's memory, on its stack, with its thread pointer. */
VICTIM_FRAME static void hazard_in_vfork(void)
{
	HAZARD_ALLOC(45);
	hazard_sink++;
}

VICTIM_FRAME static void hazard_vforks(int depth)
{
	pid_t child;

	if (depth > 0) {
		hazard_vforks(depth - 1);
		hazard_sink++;
		return;
	}
	child = vfork();
	if (child == 0) {
		hazard_in_vfork();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	HAZARD_ALLOC(46);
}

void hazard_threads(void)
{
	if (pthread_key_create(&key, hazard_thread_ends) != 0)
		victim_fail("pthread_key_create");
	threads();
	forks();
	for (int i = 0; i < VFORKS; i++)
		hazard_vforks(i % 6);
	hazard_did("hazard_in_vfork", VFORKS);
	hazard_did("hazard_vforks", 2 * VFORKS);
}
