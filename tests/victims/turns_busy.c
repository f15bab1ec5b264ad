/* SPDX-License-Identifier: MIT */
/*
 * turns_busy.c - a thread that waits, and then runs for long without a system call.
 *
 * Commands: 'b' runs until SIGUSR1 comes and answers "busy ok"; 'j' lets another thread run till
 * then, as a virtual machine's do: in code that nobody can unwind, called from a frame whose room
 * still has what earlier calls left there. 'q' ends and prints "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCKS	64
#define ROOM	65536
#define SECONDS	100	/* at the most */

static int failures;
static volatile sig_atomic_t enough;

static void on_enough(int signal)
{
	(void)signal;
	enough = 1;
}

/* The program's own code; clock_gettime is the vDSO's. */
static VICTIM_FRAME uint64_t compute(uint64_t value)
{
	for (int i = 0; i < 20000; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	return value;
}

static VICTIM_FRAME void turn(unsigned char *block[BLOCKS], uint64_t value)
{
	size_t at = value % BLOCKS;

	if (block[at] && block[at][0] != (unsigned char)at)
		failures++;
	free(block[at]);
	block[at] = malloc(16 + value % 500);
	memset(block[at], (int)at, 16);
}

static void run_busy(void)
{
	static unsigned char *block[BLOCKS];
	struct timespec now;
	uint64_t value = 1;
	time_t end;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + SECONDS;
	while (!enough && now.tv_sec < end) {
		value = compute(value);
		turn(block, value >> 20);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	}
	victim_say("busy ok\n");
}

/* Calls of allocators, deeper and deeper: as much stack as hold() has room. */
static VICTIM_FRAME int allocate_deep(int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	free(victim_seen(malloc(victim_size((size_t)depth + 1))));
	return depth > 0 ? allocate_deep(depth - 1) + room[0] : 0;
}

typedef void (*spin_fn)(volatile sig_atomic_t *until);

/* until: pause; cmpl $0, (%rdi); je until; ret. In no module: no unwinder has rules for it. */
static spin_fn make_code(void)
{
	static const uint8_t code[] = { 0xf3, 0x90, 0x83, 0x3f, 0x00, 0x74, 0xf9, 0xc3 };
	void *at = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	spin_fn spin;

	if (at == MAP_FAILED)
		victim_fail("mmap");
	memcpy(at, code, sizeof(code));
	if (mprotect(at, sizeof(code), PROT_READ | PROT_EXEC))
		victim_fail("mprotect");
	memcpy(&spin, &at, sizeof(spin));
	return spin;
}

static VICTIM_FRAME void hold(spin_fn spin)
{
	(void)victim_seen(alloca(ROOM));
	spin(&enough);
}

static void *run_like_a_virtual_machine(void *context)
{
	spin_fn spin = make_code();

	(void)context;
	for (int i = 0; i < 100; i++)
		(void)allocate_deep(100);
	victim_say("holds ok\n");
	hold(spin);
	return NULL;
}

static void hold_elsewhere(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_like_a_virtual_machine, NULL))
		victim_fail("pthread_create");
}

int main(void)
{
	char command;

	victim_setup();
	(void)signal(SIGUSR1, on_enough);
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'b')
			run_busy();
		else if (command == 'j')
			hold_elsewhere();
	victim_say("verdict %s\n", failures == 0 && victim_interrupts() == 0 ? "ok" : "failed");
	return failures != 0;
}
