/* SPDX-License-Identifier: MIT */
/* test_abandon.c - thousands of threads that did not stop in time are all let go in the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/quiesce/stop.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/target.h"
#include "inject/tracee/tracee.h"

enum { THREADS = 6000, TRIES = 4, LIMIT_S = 60 };

static void *wait_for_the_end(void *gate)
{
	char byte;

	(void)!read(*(int *)gate, &byte, 1);
	return NULL;
}

/* Says 'y' when all its threads are there, 'n' if they may not be. */
static void crowd(int gate, int answers)
{
	pthread_attr_t small;
	pthread_t thread;
	char answer = 'y';

	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < THREADS && answer == 'y'; i++)
		if (pthread_create(&thread, &small, wait_for_the_end, &gate) != 0)
			answer = 'n';
	if (write(answers, &answer, 1) == 1)
		(void)wait_for_the_end(&gate);
	_exit(0);
}

/* The number of threads of target, and how many of them are traced. */
static unsigned int count_threads(const struct target *target, unsigned int *ret_traced)
{
	pid_t *tids = NULL;
	int count = proc_list_threads(target->ref.pid, &tids);

	*ret_traced = 0;
	for (int i = 0; i < count; i++) {
		struct proc_thread_status status;

		assert_int_equal(proc_read_thread_status(target->ref.pid, tids[i], &status), 0);
		*ret_traced += status.tracer != 0;
	}
	free(tids);
	return count > 0 ? (unsigned int)count : 0;
}

static void let_all_go(void)
{
	const struct timespec pause = { 0, 10000000 };
	time_t end = time(NULL) + LIMIT_S;

	while (abandon_release() > 0 && time(NULL) < end)
		(void)nanosleep(&pause, NULL);
}

/* Gives up stops that have no time at all, several in a row, as they are tried again. */
static void give_up(const struct target *target)
{
	int error = 0;

	for (int i = 0; i < TRIES; i++) {
		struct stop_all *stop;
		int now = stop_all_begin(target, 0, &stop);

		if (!now)
			stop_all_end(stop, NULL, NULL);
		error = now ? now : error;
		assert_true(now == 0 || now == -ETIME);
	}
	assert_int_equal(error, -ETIME);
}

static void all_are_let_go(void **state)
{
	struct pidref ref = PIDREF_NONE;
	struct target target = TARGET_NONE;
	int gate[2], up[2];
	unsigned int traced;
	char answer = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate) | pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		crowd(gate[0], up[1]);
	}
	close(gate[0]);
	close(up[1]);
	assert_int_equal(read(up[0], &answer, 1), 1);
	if (answer == 'y') {
		assert_int_equal(pidref_open(pid, &ref) || target_open(&ref, &target), 0);
		give_up(&target);
		let_all_go();
		assert_int_equal(count_threads(&target, &traced), THREADS + 1);
		assert_int_equal(traced, 0);
		target_done(&target);
	}
	close(gate[1]);
	close(up[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (answer != 'y')
		skip();	/* limits of this machine or user */
}

static void each_is_taken_once(void **state)
{
	enum { MANY = 10000, FIRST = 1000000 };	/* no process has these numbers */

	(void)state;
	assert_int_equal(abandon_prepare(MANY), 0);
	for (int i = 0; i < MANY; i++)
		abandon_tracee(FIRST + i);
	for (int i = MANY - 1; i >= 0; i -= 2)
		assert_true(abandon_take(FIRST + i));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(abandon_take(FIRST + i), i % 2 == 0);
	assert_int_equal(abandon_release(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_taken_once),
		cmocka_unit_test(all_are_let_go),
	};

	if (tracee_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
