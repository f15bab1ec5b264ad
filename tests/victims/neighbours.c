/* SPDX-License-Identifier: MIT */
/*
 * neighbours.c - fibers whose small stacks are nearly full, each with another one right below it.
 *
 *	neighbours [--thread=fiber|own|none]
 *
 * The first thread runs on one, in a mapping that the kernel has joined with that of the thread's
 * control block; likewise a further thread, on one right below its own stack, or that one on its
 * own. Below each lies memory that must stay what it is. 'c' looks: "checked ok".
 */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/victims/victim.h"

enum { BELOW = 256 << 10, FIBER = 16 << 10, THREAD = 256 << 10, LEFT = 4500, SIGN = 0x5a };

static char *below[2];	/* of the first thread's fiber, of the other's */

static void check(const char *memory)
{
	for (int i = 0; i < BELOW; i++)
		if (memory[i] != SIGN)
			victim_fail("the stack below a fiber's is not what it was");
}

static void use_memory(void)
{
	char *block = malloc(victim_size(300));

	memset(block, 1, 300);
	free(victim_seen(block));
}

static void obey_for_ever(void)
{
	victim_ready();
	while (victim_await() != 'q') {
		for (int i = 0; i < 2; i++)
			if (below[i])
				check(below[i]);
		use_memory();
		victim_say("checked ok\n");
	}
	_exit(victim_interrupts() ? 1 : 0);
}

static void sleep_for_ever(void)
{
	const struct timespec rest = { 0, 1000000 };

	for (;;) {
		use_memory();
		(void)nanosleep(&rest, NULL);
		if (below[1])
			check(below[1]);
	}
}

/* So deep that LEFT bytes of the fiber's stack are left, or less. */
VICTIM_FRAME static void go_deep(char *stack, void (*function)(void))
{
	char *here = __builtin_frame_address(0);
	char *deep = victim_seen(alloca((size_t)(here - stack) - LEFT));

	memset(deep, 1, 16);
	function();
}

static void first(void) { go_deep(below[0] + BELOW, obey_for_ever); }
static void other(void) { go_deep(below[1] + BELOW, sleep_for_ever); }

static char *make_room(size_t above)
{
	char *room = mmap(NULL, BELOW + FIBER + above, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		victim_fail("no memory");
	memset(room, SIGN, BELOW);
	return room;
}

static void become(char *stack, void (*function)(void))
{
	ucontext_t left, there;

	if (getcontext(&there))
		victim_fail("getcontext");
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = FIBER;
	there.uc_link = NULL;
	makecontext(&there, function, 0);
	(void)swapcontext(&left, &there);
	victim_fail("a fiber came back");
}

static void *run_other(void *unused)
{
	if (below[1])
		become(below[1] + BELOW, other);
	else
		sleep_for_ever();
	return unused;
}

static void start_other(const char *kind)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes))
		victim_fail("pthread_attr_init");
	if (strcmp(kind, "fiber") == 0) {
		below[1] = make_room(THREAD);
		if (pthread_attr_setstack(&attributes, below[1] + BELOW + FIBER, THREAD))
			victim_fail("pthread_attr_setstack");
	}
	if (pthread_create(&thread, &attributes, run_other, NULL))
		victim_fail("no thread");
}

int main(int argc, char *argv[])
{
	const char *kind = victim_option(argv, "thread", "none");

	(void)argc;
	victim_setup();
	below[0] = make_room(0);
	if (strcmp(kind, "none") != 0)
		start_other(kind);
	become(below[0] + BELOW, first);
	return 0;
}
