/* SPDX-License-Identifier: MIT */
/*
 * suspends.c - an allocator that switches to another coroutine in the middle of a call.
 *
 *	suspends --stack=heap|mapping|shared|below
 *
 * The coroutine's stack lies in a block of malloc's, in a private mapping, in one that is shared
 * with forked processes, or right below that of the thread which works. Commands: 's' starts a
 * coroutine that calls slow_take(), which switches away: "suspended ok"; 'g' goes on there: the
 * call returns and what it returned is checked: "resumed ok"; 'n' does both at once, a thousand
 * times: "passed ok"; 'q' ends.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/victims/victim.h"

enum { STACK_BYTES = 1 << 16, THREAD_BYTES = 1 << 18, TURNS = 1000 };

static ucontext_t outside, inside;
static char *stack;
static bool checked;

VICTIM_FRAME void *slow_take(size_t bytes)
{
	char *block = malloc(bytes);

	if (!block || swapcontext(&inside, &outside))
		victim_fail("slow_take");
	memset(block, 0x5a, bytes);
	return victim_seen(block);
}

VICTIM_FRAME void slow_give(void *block) { free(victim_seen(block)); }

static void coroutine(void)
{
	char *block = slow_take(victim_size(300));

	checked = block[0] == 0x5a && block[299] == 0x5a;
	slow_give(block);
}

static void begin(void)
{
	if (getcontext(&inside))
		victim_fail("getcontext");
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	checked = false;
	if (swapcontext(&outside, &inside))
		victim_fail("swapcontext");
}

static void go_on(void)
{
	if (swapcontext(&outside, &inside))
		victim_fail("swapcontext");
	if (!checked)
		victim_fail("the call did not return what it should");
}

static void make_stack(const char *kind)
{
	int flags = MAP_ANONYMOUS | (strcmp(kind, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE);

	if (strcmp(kind, "heap") == 0)
		stack = malloc(STACK_BYTES);
	else
		stack = mmap(NULL, STACK_BYTES + THREAD_BYTES, PROT_READ | PROT_WRITE, flags, -1,
			     0);
	if (!stack || stack == MAP_FAILED)
		victim_fail("no stack");
}

static void *work(void *context)
{
	char command;

	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 's') {
			begin();
			victim_say("suspended ok\n");
		} else if (command == 'g') {
			go_on();
			victim_say("resumed ok\n");
		} else {
			for (int i = 0; i < TURNS; i++) {
				begin();
				go_on();
			}
			victim_say("passed ok\n");
		}
	}
	return context;
}

static void work_above(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, stack + STACK_BYTES, THREAD_BYTES) ||
	    pthread_create(&thread, &attributes, work, NULL) || pthread_join(thread, NULL))
		victim_fail("no thread");
}

int main(int argc, char *argv[])
{
	const char *kind = victim_option(argv, "stack", "heap");

	(void)argc;
	victim_setup();
	make_stack(kind);
	if (strcmp(kind, "below") == 0)
		work_above();
	else
		(void)work(NULL);
	return 0;
}
