/* SPDX-License-Identifier: MIT */
/* test_own_files.c - a thread with the process's descriptors, and one with its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "inject/tracee/own_files.h"

struct thread {
	pthread_t thread;
	bool own;
	int up[2], end[2];
};

static void *live(void *data)
{
	const struct thread *t = data;
	pid_t tid = t->own && unshare(CLONE_FILES) ? -1 : gettid();
	char byte;

	if (write(t->up[1], &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	while (read(t->end[0], &byte, 1) != 1)
		continue;
	return NULL;
}

static bool has_own(bool own)
{
	struct thread t = { .own = own };
	pid_t tid = 0;
	bool has;

	assert_int_equal(pipe(t.up), 0);
	assert_int_equal(pipe(t.end), 0);
	assert_int_equal(pthread_create(&t.thread, NULL, live, &t), 0);
	assert_int_equal(read(t.up[0], &tid, sizeof(tid)), sizeof(tid));
	assert_true(tid > 0);
	has = own_files_has(getpid(), tid);
	assert_int_equal(own_files_has(tid, getpid()), has);
	assert_int_equal(write(t.end[1], "", 1), 1);
	assert_int_equal(pthread_join(t.thread, NULL), 0);
	for (int i = 0; i < 2; i++) {
		(void)close(t.up[i]);
		(void)close(t.end[i]);
	}
	return has;
}

static void threads_are_told_apart(void **state)
{
	(void)state;
	assert_false(has_own(false));
	assert_true(has_own(true));
}

static void who_is_gone_has_none(void **state)
{
	(void)state;
	assert_false(own_files_has(getpid(), getpid()));
	assert_false(own_files_has(-3, getpid()));
	assert_false(own_files_has(getpid(), 0x3fffffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_told_apart),
		cmocka_unit_test(who_is_gone_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
