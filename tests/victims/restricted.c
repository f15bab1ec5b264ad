/* SPDX-License-Identifier: MIT */
/*
 * restricted.c - processes that have restricted themselves by prctl.
 *
 *	restricted --kind=KIND
 *
 * notsc	no thread may read the time stamp counter
 * dispatch	its threads' system calls end in a SIGSYS but where the program says by a byte of
 *		each thread that they may pass, as Wine's do: for a tenth of the time
 * dispatch-always	the same, but the byte never says so: only calls from libc's code pass
 * nowrite	memory that was ever writable never becomes executable (PR_SET_MDWE)
 * Each has threads that allocate without a pause; a SIGSYS is a failure, and survived.
 * Commands: 'c' "check ok|failed", whether each thread goes on; 'q' ends and prints
 * "verdict ok|failed".
 */
#include "tests/victims/victim.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define DISPATCH_ON	1
#define ALLOW		0
#define BLOCK		1
#define THREADS		3
#define SPINS		2000000ul
#define ROUNDS_OF_WORK	20

static atomic_int failures, stop;
static atomic_ulong rounds[THREADS];
static __thread volatile char selector = ALLOW;
static bool dispatches, always;
static uint64_t libc_low, libc_bytes;

static void on_failure(int signal)
{
	(void)signal;
	selector = ALLOW;
	atomic_fetch_add(&failures, 1);
}

/* The executable segment of the object that malloc is in. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *address)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
		    (uintptr_t)address - low >= p->p_memsz)
			continue;
		libc_low = low;
		libc_bytes = p->p_memsz;
		return 1;
	}
	return 0;
}

static void dispatch(void)
{
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, always ? libc_low : 0,
		  always ? libc_bytes : 0, &selector) < 0)
		victim_fail("PR_SET_SYSCALL_USER_DISPATCH");
	if (always)
		selector = BLOCK;
}

static VICTIM_FRAME void compute(void)
{
	for (volatile unsigned long i = 0; i < SPINS; i++)
		;
}

static VICTIM_FRAME void allocate(void)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	for (size_t i = 1; i <= ROUNDS_OF_WORK; i++) {
		char *block = victim_seen(malloc(victim_size(i * 40)));

		if (block)
			block[0] = 1;
		free(block);
	}
	(void)nanosleep(&pause, NULL);
}

static void *work(void *count)
{
	if (dispatches)
		dispatch();
	while (!atomic_load(&stop)) {
		allocate();
		if (dispatches && !always)
			selector = BLOCK;
		compute();
		if (dispatches && !always)
			selector = ALLOW;
		atomic_fetch_add((atomic_ulong *)count, 1);
	}
	return NULL;
}

static bool all_go_on(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < THREADS; i++) {
		unsigned long before = atomic_load(&rounds[i]);
		int tries = 0;

		while (atomic_load(&rounds[i]) == before && tries++ < 1000)
			(void)nanosleep(&pause, NULL);
		if (atomic_load(&rounds[i]) == before)
			return false;
	}
	return true;
}

static void restrict_by(const char *kind)
{
	if (strcmp(kind, "notsc") == 0) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
			victim_fail("PR_SET_TSC");
	} else if (strcmp(kind, "nowrite") == 0) {
		if (prctl(PR_SET_MDWE, 1ul, 0ul, 0ul, 0ul) < 0)
			_exit(77);	/* before Linux 6.3 */
	} else if (strncmp(kind, "dispatch", 8) == 0) {
		dispatches = true;
		always = strcmp(kind, "dispatch-always") == 0;
		if (!dl_iterate_phdr(find_libc, victim_seen((void *)(uintptr_t)malloc)))
			victim_fail("no libc");
	} else {
		victim_fail("unknown --kind");
	}
}

int main(int argc, char *argv[])
{
	const struct sigaction action = { .sa_handler = on_failure };
	pthread_t thread[THREADS];
	char command;

	(void)argc;
	victim_setup();
	(void)sigaction(SIGSYS, &action, NULL);
	restrict_by(victim_option(argv, "kind", ""));
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, work, &rounds[i]) != 0)
			victim_fail("pthread_create");
	}
	victim_ready();
	if (dispatches)
		dispatch();
	while ((command = victim_await()) != 'q') {
		if (command == 'c')
			victim_say("check %s\n", all_go_on() ? "ok" : "failed");
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	victim_say("verdict %s\n", atomic_load(&failures) ? "failed" : "ok");
	return atomic_load(&failures) ? 1 : 0;
}
