/* SPDX-License-Identifier: MIT */
/*
 * oddstacks.c - allocations on stacks that are not a thread's usual one.
 *
 * Commands: 'g' allocates on a thread with the smallest stack, on a coroutine's
 * stack from mmap, on one from static memory, and in a handler on an alternate
 * signal stack, each under a guard that a hook which needs too much room or copies
 * beyond the end would hit; prints the truth. 'q' ends.
 * All threads and stacks exist before the window.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define CALLS		200
#define COROUTINE_BYTES	(16 * 1024)

static struct truth_block kept[8 * CALLS];
static int kept_count;
static ucontext_t main_context, coroutine_context;
static pthread_barrier_t start, done;
static char static_stack[COROUTINE_BYTES] __attribute__((aligned(4096)));

VICTIM_FRAME static void allocate(void)
{
	TRUTH_FUNCTION();

	for (size_t i = 0; i < CALLS; i++)
		TRUTH_ALLOC(&kept[kept_count++], 40 + i, malloc(40 + i));
}

/* --- a thread with the smallest stack that there is ------------------------- */

VICTIM_FRAME static void *small_thread(void *unused)
{
	TRUTH_FUNCTION();

	(void)unused;
	pthread_barrier_wait(&start);
	TRUTH_CALL(allocate());
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&start);
	return NULL;
}

static void small_thread_start(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	long smallest = sysconf(_SC_THREAD_STACK_MIN);

	pthread_attr_init(&attributes);
	if (smallest < 16384)
		smallest = 16384;
	if (pthread_attr_setstacksize(&attributes, (size_t)smallest) != 0 ||
	    pthread_create(&thread, &attributes, small_thread, NULL) != 0)
		victim_fail("thread with a small stack");
	pthread_attr_destroy(&attributes);
}

/* --- coroutines ------------------------------------------------------------- */

VICTIM_FRAME static void coroutine(void)
{
	TRUTH_FUNCTION();

	TRUTH_CALL(allocate());
	truth_leave(&truth_scope);
	swapcontext(&coroutine_context, &main_context);
}

/* The shadow stack starts anew, as the real one does: its outermost frame is coroutine(). */
static void coroutine_run(void *stack)
{
	if (getcontext(&coroutine_context) < 0)
		victim_fail("getcontext");
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = COROUTINE_BYTES;
	coroutine_context.uc_link = NULL;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
}

/* A stack with nothing readable on either side. */
static void *guarded_stack(void)
{
	char *memory = mmap(NULL, COROUTINE_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED ||
	    mprotect(memory + 4096, COROUTINE_BYTES, PROT_READ | PROT_WRITE) < 0)
		victim_fail("mmap");
	return memory + 4096;
}

/* --- an alternate signal stack ---------------------------------------------- */

VICTIM_FRAME static void handler(int number)
{
	TRUTH_FUNCTION();

	(void)number;
	TRUTH_CALL(allocate());
}

static void handler_install(void *stack)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = COROUTINE_BYTES };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&alternate, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		victim_fail("sigaltstack");
}

/* raise() is synchronous, so malloc in the handler is sound. */
static void run(void *coroutine_stack)
{
	coroutine_run(coroutine_stack);
	coroutine_run(static_stack);
	raise(SIGUSR1);
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&done);
}

int main(void)
{
	struct truth_claims claims = { .totals = 1, .peaks = 0 };
	void *coroutine_stack = guarded_stack();

	victim_setup();
	handler_install(guarded_stack());
	pthread_barrier_init(&start, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	small_thread_start();
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	run(coroutine_stack);
	truth_print(claims);
	while (victim_await() != 'q')
		;
	return 0;
}
