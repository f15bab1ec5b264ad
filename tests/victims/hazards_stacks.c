/* SPDX-License-Identifier: MIT */
/*
 * hazards_stacks.c - stacks that begin elsewhere: signal handlers, at any instruction and on
 * stacks of their own, and coroutines whose stacks are given back and come again.
 *
 * malloc does not bear being interrupted by itself, so what is interrupted either does not
 * allocate, or its handler maps memory, which is allowed.
 */
#include "tests/victims/hazards.h"

#include <alloca.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { RAISES = 200, INTERRUPTS = 40, FIBERS = 6, FIBER_ROUNDS = 40 };
#define HANDLER_STACK	65536
#define FIBER_STACK	65536

/* --- signals -------------------------------------------------------------------- */

static volatile int handled;
static volatile int mapping;	/* the handler maps memory, else it allocates */
static unsigned long maps;	/* made there: an allocator's own, if it was interrupted */

VICTIM_FRAME static void hazard_in_handler(void)
{
	HAZARD_ALLOC(30);
	hazard_sink++;
}

VICTIM_FRAME static void map_in_handler(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || munmap(memory, 4096) < 0)
		victim_fail("mmap in a handler");
	hazard_sink++;
}

static void on_signal(int number)
{
	(void)number;
	if (mapping)
		map_in_handler();
	else
		hazard_in_handler();
	handled++;
}

VICTIM_FRAME static void hazard_raises(int depth)
{
	char *room = victim_seen(alloca((size_t)depth * 16 + 16));

	room[0] = 1;
	if (depth > 0)
		hazard_raises(depth - 1);
	else
		raise(SIGUSR1);
	hazard_sink += room[0];
}

/* Calls that push and pop much, so that a signal comes at all kinds of instructions. */
VICTIM_FRAME static int busy(int depth)
{
	char *room = victim_seen(alloca((size_t)depth * 8 + 16));

	room[0] = 1;
	return depth > 0 ? busy(depth - 1) + room[0] : hazard_sink;
}

VICTIM_FRAME static void hazard_interrupted(int depth)
{
	HAZARD_ALLOC(31);
	if (depth > 0)
		hazard_interrupted(depth - 1);
	hazard_sink++;
}

static void timer_set(int microseconds)
{
	struct itimerval timer = { { 0, microseconds }, { 0, microseconds } };

	if (setitimer(ITIMER_REAL, &timer, NULL) < 0)
		victim_fail("setitimer");
}

/* Returns how often work() was called until so many signals were handled. */
static unsigned long interrupt(void (*work)(int), bool maps)
{
	unsigned long calls = 0;

	handled = 0;
	mapping = maps;
	timer_set(200);
	for (; handled < INTERRUPTS; calls++)
		work(8);
	timer_set(0);
	return calls;
}

static void work_busy(int depth)
{
	(void)busy(depth * 4);
}

static void signals(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags | SA_RESTART };
	unsigned long calls;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	mapping = 0;
	for (int i = 0; i < RAISES; i++)
		hazard_raises(i % 11);
	interrupt(work_busy, false);
	hazard_did("hazard_in_handler", RAISES + (unsigned long)handled);
	calls = interrupt(hazard_interrupted, true);
	hazard_did("hazard_interrupted", 9 * calls);
	maps += (unsigned long)handled;
}

/* --- coroutines ----------------------------------------------------------------- */

struct fiber {
	ucontext_t context;
	char *stack;
	volatile bool done;
};
static struct fiber fiber[FIBERS];
static ucontext_t scheduler;
static volatile int running;
static unsigned long fiber_calls;

VICTIM_FRAME static int hazard_fiber(int depth)
{
	char *room = victim_seen(alloca((size_t)depth * 16 + 16));
	int self = running, r = 0;

	room[0] = 1;
	if (depth > 0) {
		r = hazard_fiber(depth - 1);
	} else {
		HAZARD_ALLOC(32);
		swapcontext(&fiber[self].context, &scheduler);
		HAZARD_ALLOC(33);
		fiber_calls += 2;
	}
	return r + room[0];
}

static void fiber_main(int self)
{
	for (int i = 0; i < 3; i++) {
		running = self;
		hazard_sink += hazard_fiber((self + i) % 5);
	}
	fiber[self].done = true;
	swapcontext(&fiber[self].context, &scheduler);
}

static void fiber_make(int self, int round)
{
	struct fiber *f = &fiber[self];

	f->stack = mmap(NULL, FIBER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (f->stack == MAP_FAILED || getcontext(&f->context) < 0)
		victim_fail("a coroutine's stack");
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = FIBER_STACK - (size_t)(round % 5) * 16;
	f->context.uc_link = NULL;
	f->done = false;
	makecontext(&f->context, (void (*)(void))fiber_main, 1, self);
}

static bool fibers_step(void)
{
	bool left = false;

	for (int i = 0; i < FIBERS; i++) {
		if (fiber[i].done)
			continue;
		left = true;
		running = i;
		swapcontext(&scheduler, &fiber[i].context);
	}
	return left;
}

/* Given back in another order, so that the next ones come to each other's places. */
static void fibers(void)
{
	for (int round = 0; round < FIBER_ROUNDS; round++) {
		for (int i = 0; i < FIBERS; i++)
			fiber_make(i, round);
		while (fibers_step())
			;
		for (int i = 0; i < FIBERS; i++)
			munmap(fiber[(i * 5 + round) % FIBERS].stack, FIBER_STACK);
	}
	hazard_did("hazard_fiber", fiber_calls);
}

void hazard_stacks(void)
{
	stack_t alternate = { .ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK };

	signals(0);
	if (sigaltstack(&alternate, NULL) < 0)
		victim_fail("sigaltstack");
	signals(SA_ONSTACK);
	victim_say("maps %lu\n", maps);
	fibers();
}
