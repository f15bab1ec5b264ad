/* SPDX-License-Identifier: MIT */
/*
 * userfault.c - a thread on a stack whose pages another thread of the program brings, on demand.
 *
 * Between its stack pointer and the stack's end there are pages that have never been there. The
 * first thread obeys: 'c' waits until the other one has gone on: "checked ok N", N pages brought.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/victims/victim.h"

enum { STACK = 1 << 20, HOLE = 200 << 10, PAGE = 4096 };

static int faults;
static atomic_int brought, rounds;

static void *bring(void *unused)
{
	static _Alignas(PAGE) char zeros[PAGE];
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = {
			.dst = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
			.src = (uintptr_t)zeros, .len = PAGE,
		};

		if (message.event == UFFD_EVENT_PAGEFAULT && ioctl(faults, UFFDIO_COPY, &copy))
			victim_fail("UFFDIO_COPY");
		atomic_fetch_add(&brought, 1);
	}
	return unused;
}

VICTIM_FRAME static void go_on(void *hole)
{
	for (;;) {
		free(victim_seen(malloc(victim_size(100))));
		atomic_fetch_add(&rounds, 1);
		(void)usleep(1000);
		(void)victim_seen(hole);
	}
}

static void *above_a_hole(void *unused)
{
	volatile char hole[HOLE];

	go_on((void *)(uintptr_t)hole);
	return unused;
}

static char *make_stack(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	all.range.start = (uintptr_t)stack;
	all.range.len = STACK;
	if (stack == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &all))
		victim_fail("no userfaultfd");
	return stack;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	char *stack;

	victim_setup();
	stack = make_stack();
	if (pthread_create(&thread, NULL, bring, NULL) || pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, stack, STACK) ||
	    pthread_create(&thread, &attributes, above_a_hole, NULL))
		victim_fail("no thread");
	while (!atomic_load(&rounds))
		(void)usleep(1000);
	victim_ready();
	while (victim_await() != 'q') {
		int before = atomic_load(&rounds);

		while (atomic_load(&rounds) < before + 2)
			(void)usleep(1000);
		victim_say("checked ok %d\n", atomic_load(&brought));
	}
	_exit(victim_interrupts() ? 1 : 0);
}
