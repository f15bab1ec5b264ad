/* SPDX-License-Identifier: MIT */
/*
 * ring_waits.c - one call of io_uring_enter that submits a request and waits for its completion.
 *
 *	ring_waits [--rest=MILLISECONDS]
 *
 * Half of the time it waits. A call that says that the request was submitted, without a completion
 * that is there, is short: nothing but a signal, or who stops the thread, makes it that. Commands
 * and answers as transfers.c; "ready none" where there is no io_uring.
 */
#include "tests/victims/victim.h"

#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAIT_NS = 30000000, BLOCK = 4096 };

static struct {
	int fd;
	unsigned int *tail, *mask, *array;	/* of what is submitted */
	struct io_uring_sqe *entry;
	unsigned int *done_head, *done_tail;
} ring;
static atomic_ulong moved, shorts;
static long rest_ms;

static void *map_ring(size_t bytes, off_t offset)
{
	void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, offset);

	if (got == MAP_FAILED)
		victim_fail("no ring");
	return got;
}

static int open_ring(void)
{
	struct io_uring_params p = { 0 };
	char *sent, *done;

	ring.fd = (int)syscall(SYS_io_uring_setup, 2, &p);
	if (ring.fd < 0)
		return -1;
	sent = map_ring(p.sq_off.array + p.sq_entries * sizeof(int), IORING_OFF_SQ_RING);
	done = map_ring(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
			IORING_OFF_CQ_RING);
	ring.entry = map_ring(p.sq_entries * sizeof(*ring.entry), IORING_OFF_SQES);
	ring.tail = (void *)(sent + p.sq_off.tail);
	ring.mask = (void *)(sent + p.sq_off.ring_mask);
	ring.array = (void *)(sent + p.sq_off.array);
	ring.done_head = (void *)(done + p.cq_off.head);
	ring.done_tail = (void *)(done + p.cq_off.tail);
	return 0;
}

static long enter(unsigned int submit)
{
	return syscall(SYS_io_uring_enter, ring.fd, submit, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static int is_done(void)
{
	return *ring.done_head != __atomic_load_n(ring.done_tail, __ATOMIC_ACQUIRE);
}

static void submit_and_wait(const struct __kernel_timespec *time)
{
	unsigned int at = *ring.tail & *ring.mask;

	memset(&ring.entry[at], 0, sizeof(ring.entry[at]));
	ring.entry[at].opcode = IORING_OP_TIMEOUT;
	ring.entry[at].fd = -1;
	ring.entry[at].addr = (uint64_t)(uintptr_t)time;
	ring.entry[at].len = 1;
	ring.array[at] = at;
	__atomic_store_n(ring.tail, *ring.tail + 1, __ATOMIC_RELEASE);
	if (enter(1) != 1)
		victim_fail("io_uring_enter");
	if (!is_done())
		atomic_fetch_add(&shorts, 1);
	while (!is_done())
		(void)enter(0);
	__atomic_store_n(ring.done_head, *ring.done_head + 1, __ATOMIC_RELEASE);
}

static void *wait_for_ring(void *argument)
{
	const struct __kernel_timespec time = { 0, WAIT_NS };

	for (;;) {
		char *block = victim_seen(calloc(1, victim_size(BLOCK)));

		submit_and_wait(&time);
		atomic_fetch_add(&moved, 1);
		free(block);
		(void)usleep((useconds_t)(rest_ms * 1000));
	}
	return argument;
}

static void check(void)
{
	unsigned long before = atomic_load(&moved);

	while (atomic_load(&moved) < before + 2)
		(void)usleep(1000);
	victim_say("check ok %lu of %lu short\n", atomic_load(&shorts), atomic_load(&moved));
}

int main(int argc, char *argv[])
{
	pthread_t thread;
	char command;

	(void)argc;
	victim_setup();
	rest_ms = victim_number(argv, "rest", 40);
	if (open_ring()) {
		victim_say("ready none\n");
		return 0;
	}
	if (pthread_create(&thread, NULL, wait_for_ring, NULL))
		victim_fail("no thread");
	victim_ready();
	while ((command = victim_await()) != 'q')
		if (command == 'c')
			check();
	return victim_interrupts() ? 1 : 0;
}
