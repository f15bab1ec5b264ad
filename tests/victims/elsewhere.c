/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.c - threads that leave their own stack and never come back to it, as fibers do, and
 * Lisp (SBCL).
 *
 *	elsewhere [--fibers=no]
 *
 * One is always busy with malloc, one sleeps now and then, one writes to code that it has mapped
 * from a file. All check what they have. The first thread stays on its own stack and obeys:
 * 's' lets a further one begin a realloc(), whose copying meets a page that can't be read; the
 * handler of SIGSEGV, on an alternate stack, goes on on yet another one: "suspended ok". 'g' lets
 * it go back, and the realloc() return: "resumed ok". 'c' tells that all is well: "checked ok".
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/victims/victim.h"

enum { PAGE = 4096, STACK_BYTES = 16 * PAGE, BLOCK_BYTES = 25 * PAGE, CODE_BYTES = 8 * PAGE };
enum { BUSY, SLEEPY, WRITER, FIBERS };

static atomic_ulong rounds[FIBERS];

static void short_rest(void)
{
	const struct timespec rest = { 0, 1000000 };

	(void)nanosleep(&rest, NULL);
}

/* Between two pages that nobody may touch: no other mapping is next to it. */
static char *make_stack(void)
{
	char *room = mmap(NULL, STACK_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	if (room == MAP_FAILED || mprotect(room + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE))
		victim_fail("no stack");
	return room + PAGE;
}

static void on_another_stack(ucontext_t *context, void (*function)(void))
{
	if (getcontext(context))
		victim_fail("getcontext");
	context->uc_stack.ss_sp = make_stack();
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = NULL;
	makecontext(context, function, 0);
}

/* --- for ever on a stack that is not the thread's own ------------------------ */

static void use_memory(size_t bytes)
{
	unsigned char *block = malloc(bytes), sign = (unsigned char)bytes;

	if (!block)
		victim_fail("malloc");
	memset(block, sign, bytes);
	block = realloc(victim_seen(block), bytes * 2);
	if (!block || block[0] != sign || block[bytes - 1] != sign)
		victim_fail("a block is not what it was");
	free(block);
}

static void be_busy(void)
{
	for (;; rounds[BUSY]++)
		use_memory(20 + rounds[BUSY] % 3000);
}

static void be_sleepy(void)
{
	for (;; rounds[SLEEPY]++) {
		use_memory(20 + rounds[SLEEPY] % 3000);
		short_rest();
	}
}

/* As a collector that moves code, and wants to be told when somebody writes to some of it. */
static void write_code(void)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *code = mmap(NULL, CODE_BYTES, all, MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED)
		victim_fail("no mapping of the program's file");
	for (;; rounds[WRITER]++) {
		char *page = code + rounds[WRITER] % 8 * PAGE;

		if (mprotect(page, PAGE, all))
			victim_fail("mprotect");
		page[100]++;
		if (rounds[WRITER] % 3 && mprotect(page, PAGE, PROT_READ | PROT_EXEC))
			victim_fail("mprotect");
		short_rest();
	}
}

static void *leave(void *function)
{
	static _Thread_local ucontext_t left, there;

	on_another_stack(&there, (void (*)(void))(uintptr_t)function);
	(void)swapcontext(&left, &there);
	victim_fail("a thread came back");
}

/* --- in the middle of a realloc(), and away ------------------------------------ */

static ucontext_t in_handler, away;
static char *unreadable;
static atomic_bool is_away, may_return, is_wanted, is_done;

static void stay_away(void)
{
	struct pollfd nothing = { .fd = -1 };

	is_away = true;
	while (!may_return)	/* parked for long: it can be unwound */
		(void)poll(&nothing, 1, 2000);
	(void)setcontext(&in_handler);
}

static void handle(int signal)
{
	(void)signal;
	if (mprotect(unreadable, PAGE, PROT_READ | PROT_WRITE) || swapcontext(&in_handler, &away))
		victim_fail("the handler can't switch");
}

static void *reallocate(void *unused)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	stack_t alternate = { .ss_sp = make_stack(), .ss_size = STACK_BYTES };
	char *block, *above;

	while (!is_wanted)
		short_rest();
	on_another_stack(&away, stay_away);
	if (sigaltstack(&alternate, NULL) || sigaction(SIGSEGV, &action, NULL))
		victim_fail("no handler");
	block = malloc(victim_size(BLOCK_BYTES));
	above = malloc(victim_size(100));	/* so that it can't grow where it is */
	memset(block, 0x5a, BLOCK_BYTES);
	unreadable = (char *)(((uintptr_t)block + BLOCK_BYTES / 2) & ~(uintptr_t)(PAGE - 1));
	if (mprotect(unreadable, PAGE, PROT_NONE))
		victim_fail("mprotect");
	block = realloc(victim_seen(block), victim_size(BLOCK_BYTES + 3 * PAGE));
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		if (block[i] != 0x5a)
			victim_fail("the block is not what it was");
	free(victim_seen(above));
	free(block);
	is_done = true;
	return unused;
}

/* --- commands -------------------------------------------------------------- */

static void wait_until(atomic_bool *flag)
{
	while (!*flag)
		short_rest();
}

static void obey(char command)
{
	if (command == 's') {
		is_wanted = true;
		wait_until(&is_away);
		victim_say("suspended ok\n");
	} else if (command == 'g') {
		may_return = true;
		wait_until(&is_done);
		victim_say("resumed ok\n");
	} else {
		unsigned long before[FIBERS];

		for (int i = 0; i < FIBERS; i++)
			before[i] = rounds[i];
		for (int i = 0; i < FIBERS; i++)
			while (rounds[i] < before[i] + 2)
				short_rest();
		victim_say("checked ok\n");
	}
}

static void start(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument))
		victim_fail("no thread");
}

int main(int argc, char *argv[])
{
	static void (*const fiber[FIBERS])(void) = { be_busy, be_sleepy, write_code };
	int fibers = strcmp(victim_option(argv, "fibers", "yes"), "no") == 0 ? 0 : FIBERS;
	char command;

	(void)argc;
	victim_setup();
	for (int i = 0; i < fibers; i++)
		start(leave, (void *)(uintptr_t)fiber[i]);
	start(reallocate, NULL);
	for (int i = 0; i < fibers; i++)
		while (!rounds[i])
			short_rest();
	victim_ready();
	while ((command = victim_await()) != 'q')
		obey(command);
	_exit(victim_interrupts() ? 1 : 0);
}
