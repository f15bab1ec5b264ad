/* SPDX-License-Identifier: MIT */
/* test_pidref.c - identity of a process over its life, and what is no process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "src/base/pidref.h"

/* A child that waits for a byte on *ret_go (close it to let it end). */
static pid_t spawn_waiting(int *ret_go)
{
	int pipe_fd[2];
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		close(pipe_fd[1]);
		_exit(read(pipe_fd[0], &byte, 1) < 0);
	}
	close(pipe_fd[0]);
	*ret_go = pipe_fd[1];
	return pid;
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 10000), 1);
}

static void open_over_life_of_child(void **state)
{
	_cleanup_(pidref_done) struct pidref ref = PIDREF_NONE, late = PIDREF_NONE;
	uint64_t start;
	int go;
	pid_t pid = spawn_waiting(&go);

	(void)state;
	assert_int_equal(pidref_open(pid, &ref), 0);
	assert_int_equal(ref.pid, pid);
	assert_int_equal(pidref_read_start_time(pid, &start), 0);
	assert_int_equal(ref.start_time, start);
	assert_true(pidref_alive(&ref));
	close(go);
	wait_readable(ref.fd);
	assert_false(pidref_alive(&ref));
	/* A zombie can still be opened, so that it can be named; it is not alive. */
	assert_int_equal(pidref_open(pid, &late), 0);
	assert_false(pidref_alive(&late));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(pidref_open(pid, &late), -ESRCH);
	assert_int_equal(pidref_read_start_time(pid, &start), -ESRCH);
}

/* The number comes back with another process behind it: the old reference must not take it for its
 * own. */
static void alive_recycled_number(void **state)
{
	_cleanup_(pidref_done) struct pidref old = PIDREF_NONE, new = PIDREF_NONE;
	_cleanup_file_ FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");
	int go;
	pid_t pid = spawn_waiting(&go), again;

	(void)state;
	assert_int_equal(pidref_open(pid, &old), 0);
	close(go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!last || fprintf(last, "%d", (int)pid - 1) < 0 || fflush(last) != 0)
		skip();
	again = spawn_waiting(&go);
	if (again == pid) {
		assert_int_equal(pidref_open(pid, &new), 0);
		assert_true(pidref_alive(&new));
		assert_false(pidref_alive(&old));
	}
	close(go);
	assert_int_equal(waitpid(again, NULL, 0), again);
	if (again != pid)
		skip();
}

static void *thread_id(void *argument)
{
	int *pipes = argument;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char byte;

	assert_int_equal(write(pipes[1], &tid, sizeof(tid)), sizeof(tid));
	return read(pipes[2], &byte, 1) < 0 ? NULL : argument;
}

static void open_thread_id(void **state)
{
	int up[2], down[2], pipes[3];
	struct pidref ref = PIDREF_NONE;
	pthread_t thread;
	uint64_t start;
	pid_t tid;

	(void)state;
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	pipes[1] = up[1];
	pipes[2] = down[0];
	assert_int_equal(pthread_create(&thread, NULL, thread_id, pipes), 0);
	assert_int_equal(read(up[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(pidref_open(tid, &ref), -ESRCH);
	assert_int_equal(pidref_read_start_time(tid, &start), 0);
	close(down[1]);
	pthread_join(thread, NULL);
	close(up[0]);
	close(up[1]);
	close(down[0]);
}

static void *outlive_leader(void *argument)
{
	char byte;

	_exit(read(*(int *)argument, &byte, 1) < 0);
}

/* A leader that called pthread_exit is a zombie in ps, but its process lives. */
static void alive_dead_leader(void **state)
{
	_cleanup_(pidref_done) struct pidref ref = PIDREF_NONE;
	int pipe_fd[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		close(pipe_fd[1]);
		pthread_create(&thread, NULL, outlive_leader, &pipe_fd[0]);
		syscall(SYS_exit, 0);
	}
	close(pipe_fd[0]);
	assert_int_equal(pidref_open(pid, &ref), 0);
	assert_true(pidref_alive(&ref));
	close(pipe_fd[1]);
	wait_readable(ref.fd);
	assert_false(pidref_alive(&ref));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void open_refuses_nonsense(void **state)
{
	struct pidref ref = PIDREF_NONE;

	(void)state;
	assert_int_equal(pidref_open(0, &ref), -ESRCH);
	assert_int_equal(pidref_open(-1, &ref), -ESRCH);
	assert_int_equal(pidref_open(0x7ffffff0, &ref), -ESRCH);
	assert_false(pidref_alive(&PIDREF_NONE));
	pidref_done(&ref);
	assert_int_equal(ref.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_over_life_of_child), cmocka_unit_test(alive_recycled_number),
		cmocka_unit_test(open_thread_id),          cmocka_unit_test(alive_dead_leader),
		cmocka_unit_test(open_refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
