/* SPDX-License-Identifier: MIT */
/*
 * barriers.c - a program that write-protects its heap again and again, and opens a page when it
 * faults on it, as an incremental collector does.
 *
 *	barriers [--late=1]	--late: only from the command 'b' on
 *
 * Its first thread obeys, another one protects. Commands: 'b' begins, "begun ok"; 'c' waits until
 * the heap was written to in another epoch, "check ok N faults".
 */
#include "tests/victims/victim.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, EPOCH_US = 20000 };

static uintptr_t low, high;
static atomic_int on;
static atomic_ulong faults, epochs;

static void open_page(int signal, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;

	(void)signal;
	(void)context;
	if (address < low || address >= high)
		victim_fail("a fault that is not of the barrier");
	atomic_fetch_add(&faults, 1);
	if (mprotect((void *)(address & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE))
		victim_fail("mprotect");
}

static void find_heap(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[heap]"))
			(void)sscanf(line, "%lx-%lx", &low, &high);
	if (maps)
		(void)fclose(maps);
	if (!low)
		victim_fail("no heap");
}

static void *protect(void *unused)
{
	for (;;) {
		if (atomic_load(&on) && mprotect((void *)low, high - low, PROT_READ))
			victim_fail("mprotect");
		(void)usleep(EPOCH_US);
		atomic_fetch_add(&epochs, 1);
	}
	return unused;
}

static void use_heap(void)
{
	char *block = victim_seen(malloc(victim_size(100)));

	memset(block, 1, 100);
	free(victim_seen(block));
}

static void check(void)
{
	unsigned long began = atomic_load(&epochs);

	while (atomic_load(&epochs) < began + 2) {
		use_heap();
		(void)usleep(1000);
	}
	victim_say("check ok %lu faults\n", atomic_load(&faults));
}

int main(int argc, char *argv[])
{
	struct sigaction action = { .sa_sigaction = open_page,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t thread;
	char command;

	(void)argc;
	victim_setup();
	use_heap();
	find_heap();
	if (sigaction(SIGSEGV, &action, NULL) || pthread_create(&thread, NULL, protect, NULL))
		victim_fail("no barrier");
	atomic_store(&on, !victim_number(argv, "late", 0));
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'c')
			check();
		if (command == 'b') {
			atomic_store(&on, 1);
			(void)usleep(2 * EPOCH_US);
			victim_say("begun ok\n");
		}
	}
	return victim_interrupts() ? 1 : 0;
}
