/* SPDX-License-Identifier: MIT */
/* test_ending.c - a child stands at its end with its memory, and ends as it would have without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/snapshot/ending.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/tracee.h"

#define LIMIT_NS 60000000000ull
enum { WORD = 4711, THREADS = 3, CHURN = 50 };

static volatile int word;
static int gate[2], answer[2];

static void *end_soon(void *argument)
{
	return argument;
}

static void *wait_for_ever(void *argument)
{
	for (;;)
		(void)pause();
	return argument;
}

static void *end_process(void *argument)
{
	exit((int)(intptr_t)argument);
}

static void make_threads(void *(*of)(void *argument), int count)
{
	pthread_t thread;

	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, of, (void *)(intptr_t)i))
			_exit(99);
}

static void end_by_exit(void)
{
	exit(3);
}
static void end_by_system_call(void)
{
	_exit(4);
}
static void end_quickly(void)
{
	quick_exit(5);
}
static void end_by_abort(void)
{
	abort();
}
static void end_by_signal(void)
{
	(void)raise(SIGTERM);
}
static void end_by_kill(void)
{
	(void)raise(SIGKILL);
}

static void end_by_fault(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 1;
}

static void end_with_threads(void)
{
	make_threads(wait_for_ever, THREADS);
	exit(6);
}

static void end_after_churn(void)
{
	pthread_t thread;

	for (int i = 0; i < CHURN; i++)
		if (pthread_create(&thread, NULL, end_soon, NULL) || pthread_join(thread, NULL))
			_exit(99);
	exit(7);
}

static void end_without_leader(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_process, (void *)8))
		_exit(99);
	pthread_exit(NULL);
}

static void put(int fd, int value)
{
	if (write(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
		_exit(98);
}

static int take(int fd)
{
	int value = -1;

	assert_int_equal(read(fd, &value, sizeof(value)), sizeof(value));
	return value;
}

static char state_of(pid_t pid)
{
	char path[64], text[256] = "", *end;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fgets(text, sizeof(text), file);
	(void)fclose(file);
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

static void *end_process_beside_stop(void *argument)
{
	put(answer[1], WORD);
	while (state_of(getpid()) != 't')
		(void)usleep(1000);
	(void)syscall(SYS_exit_group, (int)(intptr_t)argument);
	return NULL;
}

/* Its leader stands at its end, and is killed there, since another thread ends the process. */
static void end_leader_in_its_stop(void)
{
	pthread_t thread;
	char byte;

	if (pthread_create(&thread, NULL, end_process_beside_stop, (void *)9))
		_exit(99);
	while (read(gate[0], &byte, 1) < 0)
		;
	pthread_exit(NULL);
}

static void become_child(void (*end)(void))
{
	const struct rlimit core = { 0, 0 };
	char byte;

	(void)setrlimit(RLIMIT_CORE, &core);
	(void)signal(SIGSEGV, SIG_DFL); /* cmocka handles them */
	(void)signal(SIGABRT, SIG_DFL);
	while (read(gate[0], &byte, 1) < 0)
		;
	word = WORD;
	end();
	_exit(97);
}

/* The child of a parent that says how it ended; stopped, as if it was just being started. */
static pid_t begin(void (*end)(void), struct target *ret)
{
	struct pidref ref = PIDREF_NONE;
	struct tracee_stop stop;
	pid_t parent, child;
	int status;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pipe(answer), 0);
	word = 0;
	parent = fork();
	if (parent == 0) {
		child = fork();
		if (child == 0)
			become_child(end);
		put(answer[1], child);
		_exit(waitpid(child, &status, 0) == child ? (put(answer[1], status), 0) : 1);
	}
	child = take(answer[0]);
	assert_int_equal(tracee_seize(child), 0);
	assert_int_equal(tracee_interrupt(child), 0);
	assert_int_equal(tracee_wait(child, tracee_now_ns() + LIMIT_NS, &stop), 0);
	assert_int_equal(pidref_open(child, &ref), 0);
	assert_int_equal(target_open(&ref, ret), 0);
	ret->owed = calloc(1, sizeof(*ret->owed));
	ret->held = child;
	return parent;
}

static void turn(struct ending *ending, uint64_t end)
{
	struct pollfd wait = { .fd = ending_events(ending), .events = POLLIN };
	int left = ending_left_ms(ending);

	(void)poll(&wait, 1, left < 0 || left > 100 ? 100 : left);
	ending_turn(ending);
	assert_true(tracee_now_ns() < end);
}

static void run_to_end(struct ending *ending)
{
	uint64_t end = tracee_now_ns() + LIMIT_NS;

	while (!ending_is_held(ending))
		turn(ending, end);
}

static bool has_answer(void)
{
	struct pollfd wait = { .fd = answer[0], .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

/* Nobody looks from when its leader comes to its end until it was killed there. */
static void look_away(struct ending *ending, pid_t child)
{
	uint64_t end = tracee_now_ns() + LIMIT_NS;

	while (!has_answer())
		turn(ending, end);
	assert_int_equal(take(answer[0]), WORD);
	assert_int_equal(write(gate[1], "", 1), 1);
	while (state_of(child) != 'Z') {
		(void)usleep(1000);
		assert_true(tracee_now_ns() < end);
	}
}

static int finish(pid_t parent, struct target *target)
{
	uint64_t end = tracee_now_ns() + LIMIT_NS;
	int status;

	while (!has_answer()) {
		(void)abandon_release();	/* as the keeper does with each tick */
		(void)usleep(1000);
		assert_true(tracee_now_ns() < end);
	}
	status = take(answer[0]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	for (int i = 0; i < 2; i++) {
		close(gate[i]);
		close(answer[i]);
	}
	target_done(target);
	return status;
}

/* How it ended, after its memory was seen at that moment; threads: that stood there, 0: some. */
static int see_end(void (*end)(void), size_t threads)
{
	struct target target;
	pid_t parent = begin(end, &target);
	struct ending *ending;
	struct freeze picture;
	int seen = 0;

	assert_int_equal(ending_guard(&target, &ending), 0);
	assert_int_equal(target.held, 0);
	assert_int_equal(write(gate[1], "", 1), 1);
	if (end == end_leader_in_its_stop)
		look_away(ending, target.ref.pid);
	run_to_end(ending);
	assert_int_equal(ending_picture(ending, &picture), 0);
	if (threads)
		assert_int_equal(picture.thread_count, threads);
	assert_true(picture.complete);
	assert_int_equal(pread(picture.mem, &seen, sizeof(seen), (off_t)(uintptr_t)&word),
			 sizeof(seen));
	assert_int_equal(seen, WORD);
	assert_int_equal(freeze_end(&target, NULL, 0, &picture), 0);
	ending_release(ending);
	return finish(parent, &target);
}

static void ways_to_end(void **state)
{
	static const struct {
		void (*end)(void);
		size_t threads;
		int status, signal;
	} way[] = {
		{ end_by_exit, 1, 3, 0 },         { end_by_system_call, 1, 4, 0 },
		{ end_quickly, 1, 5, 0 },         { end_by_abort, 1, 0, SIGABRT },
		{ end_by_signal, 1, 0, SIGTERM }, { end_by_fault, 1, 0, SIGSEGV },
		{ end_by_kill, 1, 0, SIGKILL },   { end_with_threads, 1 + THREADS, 6, 0 },
		{ end_after_churn, 1, 7, 0 },     { end_without_leader, 0, 8, 0 },
		{ end_leader_in_its_stop, 1, 9, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		int status = see_end(way[i].end, way[i].threads);

		assert_int_equal(WIFSIGNALED(status), way[i].signal != 0);
		assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, way[i].signal);
		assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, way[i].status);
	}
}

/* Let go before its end, with threads: none of it is traced any more. */
static void let_go_on_the_way(void **state)
{
	struct target target;
	pid_t parent = begin(end_after_churn, &target);
	struct ending *ending;
	int status;

	(void)state;
	assert_int_equal(ending_guard(&target, &ending), 0);
	assert_int_equal(write(gate[1], "", 1), 1);
	for (int i = 0; i < CHURN / 2; i++)
		ending_turn(ending);
	ending_release(ending);
	status = finish(parent, &target);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_to_end),
		cmocka_unit_test(let_go_on_the_way),
	};

	if (tracee_init() != 0)
		return 99;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
