/* SPDX-License-Identifier: MIT */
/*
 * test_stop_aids.c - what keeps a stop of all threads short: who has come to share the memory
 * since, many stacks at once, since when a thread has stood; that no thread is stopped in vain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/quiesce/stack_batch.h"
#include "inject/quiesce/stack_scan.h"
#include "inject/tracee/priority.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/sharers.h"
#include "inject/tracee/stood.h"
#include "inject/tracee/threads.h"
#include "inject/tracee/tracee.h"

#define LIMIT_NS 20000000000ull
#define SMALL_STACK 16384

/* Code by which a borrowed thread of the child makes calls: fork leaves it where it is here. */
extern const char syscall_ret[], restorer[];
__asm__(".text\n"
	"syscall_ret: syscall\n"
	"	ret\n"
	"restorer: mov $15, %rax\n"
	"	syscall\n");

static struct target child;	/* does what it is told to through a pipe, one byte each */
static int orders, answers;

/* Where a process that shares memory waits. It has a stack of its own. */
static char sharer_stack[65536] __attribute__((aligned(16)));

static int wait_here(void *gate)
{
	char byte;

	return (int)read(*(int *)gate, &byte, 1);
}

static void *wait_in_thread(void *gate)
{
	(void)wait_here(gate);
	return NULL;
}

static void serve(int from, int to)
{
	int gate[2];
	pthread_attr_t small;
	pthread_t thread;
	char order;

	if (pipe(gate) < 0 || pthread_attr_init(&small) != 0 ||
	    pthread_attr_setstacksize(&small, SMALL_STACK) != 0)
		_exit(1);
	while (read(from, &order, 1) == 1) {
		if (order == 's' && clone(wait_here, sharer_stack + sizeof(sharer_stack),
					  CLONE_VM | SIGCHLD, &gate[0]) < 0)
			_exit(2);
		if (order == 't' && pthread_create(&thread, NULL, wait_in_thread, &gate[0]) != 0)
			_exit(3);
		if (order == 'q' && pthread_create(&thread, &small, wait_in_thread, &gate[0]) != 0)
			_exit(5);
		/* a byte for the thread as well, should there be one */
		if (order == 'e' && (write(gate[1], "ee", 2) != 2 || wait(NULL) < 0))
			_exit(4);
		if (write(to, "", 1) != 1)
			break;
	}
	_exit(0);
}

static void tell(char order)
{
	char byte;

	assert_int_equal(write(orders, &order, 1), 1);
	assert_int_equal(read(answers, &byte, 1), 1);
}

static int begin(void **state)
{
	struct pidref ref = PIDREF_NONE;
	int down[2], up[2];
	pid_t pid;

	(void)state;
	if (pipe(down) < 0 || pipe(up) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(down[1]);
		serve(down[0], up[1]);
	}
	orders = down[1];
	answers = up[0];
	close(down[0]);
	close(up[1]);
	return pidref_open(pid, &ref) || target_open(&ref, &child);
}

static int end(void **state)
{
	pid_t pid = child.ref.pid;

	(void)state;
	close(orders);
	close(answers);
	target_done(&child);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void sharers_that_come_are_seen(void **state)
{
	struct sharers_seen before, during;

	(void)state;
	sharers_look(&child, &before);
	assert_false(before.some);
	assert_false(sharers_exist_since(&child, &before));
	tell('t');	/* which is no process of its own */
	assert_false(sharers_exist_since(&child, &before));
	tell('s');
	assert_true(sharers_exist_since(&child, &before));
	assert_true(sharers_exist(&child));
	assert_true(sharers_is_one(&child, sharers_find(&child)));
	assert_false(sharers_is_one(&child, child.ref.pid));
	sharers_look(&child, &during);
	assert_true(during.some);
	assert_true(sharers_exist_since(&child, &during));
	tell('e');
}

static void sharers_that_go_are_gone(void **state)
{
	struct sharers_seen before, during;
	pid_t one;

	(void)state;
	sharers_look(&child, &before);
	tell('s');	/* which has the very next number, on a quiet machine */
	assert_true(sharers_exist_since(&child, &before));
	sharers_look(&child, &during);
	assert_true(during.some);
	one = sharers_find(&child);
	tell('e');
	assert_false(sharers_is_one(&child, one));
	assert_int_equal(sharers_find(&child), 0);
	assert_false(sharers_exist_since(&child, &before));
	assert_false(sharers_exist_since(&child, &during));
}

/* Numbers that were given out again, none at all, very many: asked of everybody. */
static void unknown_numbers_ask_everybody(void **state)
{
	const struct sharers_seen strange[] = { { .last = 0 }, { .last = 1 },
						{ .last = INT32_MAX } };

	(void)state;
	tell('s');
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		assert_true(sharers_exist_since(&child, &strange[i]));
	tell('e');
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		assert_false(sharers_exist_since(&child, &strange[i]));
}

static void stacks_are_read_together(void **state)
{
	static uint64_t stack[STACK_BATCH_THREADS][STACK_BATCH_WORDS * 2];
	struct stack_top top[STACK_BATCH_THREADS];

	(void)state;
	memset(stack, 0x5a, sizeof(stack));
	stack_batch_prepare(false);
	for (size_t i = 0; i < STACK_BATCH_THREADS; i++) {
		size_t from = i * 29;	/* short ones and longer ones than are read */

		stack[i][from] = i;
		top[i] = (struct stack_top){ .sp = (uintptr_t)&stack[i][from],
					     .end = (uintptr_t)(stack[i] + STACK_BATCH_WORDS * 2) };
	}
	stack_batch_read(getpid(), top, STACK_BATCH_THREADS);
	for (size_t i = 0; i < STACK_BATCH_THREADS; i++) {
		size_t all = (size_t)(top[i].end - top[i].sp) / 8;

		assert_int_equal(top[i].count, all < STACK_BATCH_WORDS ? all : STACK_BATCH_WORDS);
		assert_int_equal(top[i].word[0], i);
		assert_memory_equal(top[i].word, (void *)(uintptr_t)top[i].sp, top[i].count * 8);
	}
}

/* What lies behind a stack that can't be read is read one by one, by whoever needs it. */
static void unreadable_stacks_are_left(void **state)
{
	uint64_t good[4] = { 1, 2, 3, 4 };
	struct stack_top top[3] = {
		{ .sp = (uintptr_t)good, .end = (uintptr_t)(good + 4) },
		{ .sp = 4096, .end = 4096 + 64 },
		{ .sp = (uintptr_t)good, .end = (uintptr_t)(good + 4) },
	};

	(void)state;
	stack_batch_read(getpid(), top, 3);
	assert_int_equal(top[0].count, 4);
	assert_memory_equal(top[0].word, good, sizeof(good));
	assert_int_equal(top[1].count, 0);
	assert_int_equal(top[2].count, 0);
	stack_batch_read(0x7ffffffe, top, 3);	/* nobody */
	assert_int_equal(top[0].count, 0);
	stack_batch_read(getpid(), top, 0);
	stack_batch_prepare(true);	/* reading could wait */
	stack_batch_read(getpid(), top, 3);
	assert_int_equal(top[0].count, 0);
	stack_batch_prepare(false);
}

/* Known words are looked at, and the rest is read; what lies on neither is not. */
static void known_words_are_part_of_the_stack(void **state)
{
	static uint64_t stack[64];
	const struct stack_range range = { .low = 0x100000, .high = 0x101000 };
	struct procmaps maps = { 0 };
	struct target self = TARGET_NONE;
	struct pidref ref = PIDREF_NONE;
	struct stack_scan scan = { &self, &maps, &range, 1 };
	uint64_t known[8] = { 0 }, sp = (uintptr_t)stack, stop = (uintptr_t)(stack + 64);

	(void)state;
	assert_int_equal(pidref_open(getpid(), &ref), 0);
	assert_int_equal(target_open(&ref, &self), 0);
	assert_int_equal(procmaps_read(self.maps, &maps), 0);
	assert_true(stack_scan_clean_known(&scan, sp, stop, known, 8));
	stack[7] = 0x100008;	/* not read again: known says otherwise */
	assert_true(stack_scan_clean_known(&scan, sp, stop, known, 8));
	assert_false(stack_scan_clean_known(&scan, sp, stop, known, 7));
	known[7] = 0x100008;
	assert_false(stack_scan_clean_known(&scan, sp, stop, known, 8));
	known[7] = stack[7] = 0;
	stack[8] = 0x100008;
	assert_false(stack_scan_clean_known(&scan, sp, stop, known, 8));
	stack[8] = 0;
	stack[63] = 0x100008;
	assert_false(stack_scan_clean_known(&scan, sp, stop, known, 8));
	assert_true(stack_scan_clean_known(&scan, sp, stop - 8, known, 8));
	procmaps_done(&maps);
	target_done(&self);
}

static void pin_to_one(cpu_set_t *ret_before)
{
	cpu_set_t one;

	assert_int_equal(sched_getaffinity(0, sizeof(*ret_before), ret_before), 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, ret_before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* A child that has begun to wait for ever, seized. */
static pid_t seize_child(void)
{
	pid_t pid = fork();
	uint64_t often;

	if (pid == 0)
		for (;;)
			pause();
	while (proc_read_run_count(pid, pid, &often) != 0)
		usleep(1000);
	assert_int_equal(tracee_seize(pid), 0);
	return pid;
}

/* On the only processor, which we don't leave: it waits, and does not stand still because of us. */
static void waiting_for_a_processor_is_no_stop(void **state)
{
	const uint64_t busy_ns = 30000000;
	struct tracee_stop stop;
	struct stood stood;
	cpu_set_t before;
	uint64_t since;
	pid_t pid;

	(void)state;
	pin_to_one(&before);
	pid = seize_child();
	priority_raise();
	if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO) {
		stood_ask(&stood, pid, pid);
		assert_int_equal(tracee_interrupt(pid), 0);
		while (tracee_now_ns() < stood.asked_ns + busy_ns)
			;
		assert_int_equal(tracee_wait(pid, tracee_now_ns() + LIMIT_NS, &stop), 0);
		since = stood_since(&stood);
		assert_true(since >= stood.asked_ns + busy_ns / 2);
		assert_true(since <= tracee_now_ns());
	} else {
		print_message("not tried: there is no real-time priority here\n");
	}
	priority_restore();
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void it_never_stood_before_it_was_asked_nor_later_than_now(void **state)
{
	struct tracee_stop stop;
	struct stood stood;
	pid_t pid = seize_child();

	(void)state;
	stood_ask(&stood, pid, pid);
	assert_int_equal(tracee_interrupt(pid), 0);
	assert_int_equal(tracee_wait(pid, tracee_now_ns() + LIMIT_NS, &stop), 0);
	assert_true(stood_since(&stood) >= stood.asked_ns);
	assert_true(stood_since(&stood) <= tracee_now_ns());
	stood.asked_ns = tracee_now_ns() + LIMIT_NS;	/* as if it had waited so long */
	assert_true(stood_since(&stood) <= tracee_now_ns());
	stood = (struct stood){ .pid = pid, .tid = pid, .asked_ns = 1, .waited_ns = UINT64_MAX };
	assert_int_equal(stood_since(&stood), 1);	/* nothing is known */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The child's youngest thread, as soon as it waits. */
static pid_t newest_waiting(void)
{
	_cleanup_free_ pid_t *tids = NULL;
	struct proc_thread_syscall call;
	int count = proc_list_threads(child.ref.pid, &tids);
	pid_t newest = 0;

	assert_true(count > 0);
	for (int i = 0; i < count; i++)
		newest = tids[i] > newest ? tids[i] : newest;
	do {
		usleep(1000);
		assert_int_equal(proc_read_thread_syscall(child.ref.pid, newest, &call), 0);
	} while (call.running || call.number != SYS_read);
	return newest;
}

/* Both wait without a limit; the one that came last would be tried first. */
static void a_thread_without_the_room_is_not_stopped(void **state)
{
	struct borrow_request request = {
		.syscall_ret = (uint64_t)(uintptr_t)syscall_ret,
		.restorer = (uint64_t)(uintptr_t)restorer,
		.stack_room = THREADS_CALL_STACK,
		.deadline_ns = tracee_now_ns() + LIMIT_NS,
	};
	struct proc_thread_status before, after;
	static struct borrow borrow;
	pid_t roomy, small;

	(void)state;
	tell('t');
	roomy = newest_waiting();
	tell('q');
	small = newest_waiting();
	assert_int_not_equal(small, roomy);
	assert_int_equal(proc_read_thread_status(child.ref.pid, small, &before), 0);
	assert_int_equal(threads_borrow(&child, &request, &borrow), 0);
	assert_int_equal(request.tid, roomy);
	assert_int_equal(borrow_end(&borrow), 0);
	assert_int_equal(proc_read_thread_status(child.ref.pid, small, &after), 0);
	assert_int_equal(after.voluntary_switches, before.voluntary_switches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sharers_that_come_are_seen, begin, end),
		cmocka_unit_test_setup_teardown(sharers_that_go_are_gone, begin, end),
		cmocka_unit_test_setup_teardown(unknown_numbers_ask_everybody, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_without_the_room_is_not_stopped, begin,
						end),
		cmocka_unit_test(stacks_are_read_together),
		cmocka_unit_test(unreadable_stacks_are_left),
		cmocka_unit_test(known_words_are_part_of_the_stack),
		cmocka_unit_test(waiting_for_a_processor_is_no_stop),
		cmocka_unit_test(it_never_stood_before_it_was_asked_nor_later_than_now),
	};

	if (tracee_init() != 0)	/* else a stop that comes before the wait for it is not heard of */
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
