/* SPDX-License-Identifier: MIT */
/* test_transfers.c - which calls a stop would divide, and how long one waits for their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/syscall.h>

#include "inject/tracee/transfers.h"

static bool is_one(long number, unsigned int argument, uint64_t value)
{
	struct proc_thread_syscall call = { .number = number };

	call.argument[argument] = value;
	return transfer_is_one(&call);
}

static void what_may_be_divided(void **state)
{
	(void)state;
	assert_true(is_one(SYS_write, 2, 2));
	assert_false(is_one(SYS_write, 2, 1));
	assert_true(is_one(SYS_writev, 2, 1));
	assert_true(is_one(SYS_sendmsg, 2, 0));
	assert_true(is_one(SYS_sendto, 2, 1 << 20));
	assert_true(is_one(SYS_recvfrom, 3, MSG_WAITALL | MSG_PEEK));
	assert_false(is_one(SYS_recvfrom, 3, MSG_PEEK));
	assert_true(is_one(SYS_recvmsg, 2, MSG_WAITALL));
	assert_false(is_one(SYS_recvmsg, 2, 0));
	assert_true(is_one(SYS_io_getevents, 1, 2));
	assert_false(is_one(SYS_io_getevents, 1, 1));
	assert_false(is_one(SYS_read, 2, 1 << 20));
	assert_false(is_one(SYS_futex, 2, 2));
	assert_false(is_one(-1, 2, 2));
}

static bool is_enter(uint64_t submit, uint64_t wait_for, uint64_t flags)
{
	struct proc_thread_syscall call = { .number = 426 /* io_uring_enter */,
					    .argument = { 3, submit, wait_for, flags } };

	return transfer_is_one(&call);
}

static void who_submits_and_waits(void **state)
{
	(void)state;
	assert_true(is_enter(1, 1, 1));
	assert_true(is_enter(0, 2, 1));
	assert_false(is_enter(0, 1, 1));	/* -EINTR, which is hidden */
	assert_false(is_enter(1, 0, 1));
	assert_false(is_enter(1, 1, 0));
}

/* A thread that runs has no number of a call, which reads as that of read. */
static void a_running_one_is_in_none(void **state)
{
	struct proc_thread_syscall call = { .running = true, .number = SYS_write,
					    .argument = { 1, 0, 100 } };

	(void)state;
	assert_false(transfer_is_one(&call));
}

static void patience_ends(void **state)
{
	unsigned int pauses = 0;

	(void)state;
	for (; transfers_have_patience() && pauses < 100000; pauses++)
		transfers_pause();
	assert_in_range(pauses, 1, 1000);
	assert_false(transfers_have_patience());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_divided),
		cmocka_unit_test(who_submits_and_waits),
		cmocka_unit_test(a_running_one_is_in_none),
		cmocka_unit_test(patience_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
