/* SPDX-License-Identifier: MIT */
/*
 * guarded.c - fibers from a pool, with guards between their stacks that maps did not show.
 *
 *	guarded [--guard=later|hidden] [--thread=first|given|again]
 *
 * later: mprotect makes a fiber's guard before it first runs, which may be in mid-session; hidden:
 * madvise does, from Linux 6.13 on (else "guards none" is said). The pool lies right below
 * the control block of the first thread; or below the stack that the program has given to
 * another one, in one mapping; again: by turns with a thread to which it has given the pool, too,
 * as a stack that ends where that one's does. 'c': "checked ok N", N blocks so far.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/victims/victim.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

enum { PAGE = 4096, SLOT = 16 << 10, FIBERS = 16, POOL = FIBERS * SLOT, GIVEN = 128 << 10 };
enum { TURNS = 20, BLOCKS = 100, LONG = 300 };

static char *pool;
static ucontext_t scheduler, fiber[FIBERS];
static int current;
static volatile unsigned long blocks;
static bool later;

static void use_memory(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		char *block = malloc(victim_size(100 + i * 50));

		memset(block, 1, 50);
		free(victim_seen(block));
		blocks++;
	}
}

VICTIM_FRAME static void run_fiber(void)
{
	for (;;) {
		use_memory();
		(void)swapcontext(&fiber[current], &scheduler);
	}
}

static void guard(int number, bool made)
{
	char *page = pool + number * SLOT;
	int r = later ? mprotect(page, PAGE, made ? PROT_NONE : PROT_READ | PROT_WRITE) :
			madvise(page, PAGE, made ? MADV_GUARD_INSTALL : MADV_GUARD_REMOVE);

	if (r == 0)
		return;
	if (later)
		victim_fail("mprotect");
	victim_say("guards none\n");
	_exit(0);
}

static void make_fiber(int number)
{
	guard(number, true);
	if (getcontext(&fiber[number]))
		victim_fail("getcontext");
	fiber[number].uc_stack.ss_sp = pool + number * SLOT + PAGE;
	fiber[number].uc_stack.ss_size = SLOT - PAGE;
	fiber[number].uc_link = NULL;
	makecontext(&fiber[number], run_fiber, 0);
}

static void rest(void)
{
	const struct timespec time = { 0, 1000000 };

	(void)nanosleep(&time, NULL);
}

/* Fibers are made one after the other, from the lowest on: the guards above it come later. */
static void schedule(int turns)
{
	int made = 0;

	for (int turn = 0; turns == 0 || turn < turns; turn++) {
		if (turn % TURNS == 0 && made < FIBERS)
			make_fiber(made++);
		use_memory();
		for (current = 0; current < made; current++)
			(void)swapcontext(&scheduler, &fiber[current]);
		rest();
	}
	while (made > 0)
		guard(--made, false);
}

static void *run_fibers(void *turns)
{
	schedule(*(const int *)turns);
	return NULL;
}

static void *run_alone(void *turns)
{
	for (int turn = 0; turn < *(const int *)turns; turn++) {
		use_memory();
		rest();
	}
	return NULL;
}

static pthread_t start(void *(*function)(void *), int turns, char *stack, size_t bytes)
{
	static int given;
	pthread_attr_t attributes;
	pthread_t thread;

	given = turns;
	if (pthread_attr_init(&attributes) ||
	    (stack && pthread_attr_setstack(&attributes, stack, bytes)) ||
	    pthread_create(&thread, &attributes, function, &given))
		victim_fail("no thread");
	return thread;
}

static void *obey(void *unused)
{
	char command;

	while ((command = victim_await()) != 'q')
		if (command == 'c')
			victim_say("checked ok %lu\n", blocks);
	_exit(victim_interrupts() ? 1 : 0);
	return unused;
}

/* One thread's stack ends where the other's does, so that both have their control block there. */
static void take_turns(void)
{
	for (;;) {
		(void)pthread_join(start(run_alone, LONG, pool, POOL + GIVEN), NULL);
		(void)pthread_join(start(run_fibers, LONG, pool + POOL, GIVEN), NULL);
	}
}

int main(int argc, char *argv[])
{
	const char *thread = victim_option(argv, "thread", "first");

	(void)argc;
	victim_setup();
	later = strcmp(victim_option(argv, "guard", "later"), "later") == 0;
	pool = mmap(NULL, strcmp(thread, "first") == 0 ? POOL : POOL + GIVEN,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		victim_fail("no memory");
	guard(0, true);
	guard(0, false);
	(void)start(obey, 0, NULL, 0);
	victim_ready();
	if (strcmp(thread, "again") == 0)
		take_turns();
	if (strcmp(thread, "given") == 0)
		(void)start(run_fibers, 0, pool + POOL, GIVEN);
	else
		schedule(0);
	for (;;)
		(void)pause();
}
