/* SPDX-License-Identifier: MIT */
/*
 * selfcheck_fiber.c - a thread that does its rounds on a fiber, between memory that is checked.
 *
 * Its own stack waits meanwhile, deep in, with an array that must stay what it is; now and then it
 * is gone back to, to look, and to go as deep at another place.
 */
#include "tests/victims/selfcheck.h"
#include "tests/victims/victim.h"

#include <alloca.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { BESIDE = 64 << 10, FIBER = 256 << 10, ARRAY = 8192, SIGN = 0x6b, PERIOD = 16 };

static struct fiber {
	ucontext_t own, there;
	struct selfcheck_thread *thread;	/* NULL: rounds are done on the own stack */
	void *(*function)(void *);
	char *beside[2];			/* the memory below and above the fiber's stack */
	unsigned int rests;
	volatile int ended;
} fiber;

static void check(const char *memory, size_t bytes, const char *whose)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != SIGN)
			selfcheck_failed(fiber.thread, whose, (long)i);
}

static void start(void)
{
	(void)fiber.function(fiber.thread);
	fiber.ended = 1;
	(void)swapcontext(&fiber.there, &fiber.own);
}

/* Here the own stack waits. */
VICTIM_FRAME static void wait_deep(unsigned int depth)
{
	char *above = alloca(64 + depth % 32 * 256), array[ARRAY];

	above[0] = 1;
	memset(victim_seen(array), SIGN, sizeof(array));
	(void)victim_seen(above);
	(void)swapcontext(&fiber.own, &fiber.there);
	check(victim_seen(array), sizeof(array), "own stack");
}

void selfcheck_fiber_run(struct selfcheck_thread *thread, void *(*function)(void *))
{
	size_t bytes = 2 * BESIDE + FIBER;
	char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || getcontext(&fiber.there))
		victim_fail("no fiber");
	memset(room, SIGN, bytes);
	fiber.beside[0] = room;
	fiber.beside[1] = room + BESIDE + FIBER;
	fiber.thread = thread;
	fiber.function = function;
	fiber.there.uc_stack.ss_sp = room + BESIDE;
	fiber.there.uc_stack.ss_size = FIBER;
	fiber.there.uc_link = NULL;
	makecontext(&fiber.there, start, 0);
	while (!fiber.ended)
		wait_deep(fiber.rests);
}

void selfcheck_fiber_rest(const struct selfcheck_thread *self)
{
	if (self != fiber.thread || ++fiber.rests % PERIOD)
		return;
	for (int i = 0; i < 2; i++)
		check(fiber.beside[i], BESIDE, "memory beside the fiber");
	(void)swapcontext(&fiber.there, &fiber.own);
}
