/* SPDX-License-Identifier: MIT */
/* test_inject_undo.c - the rows of inject.c: what was not undone is undone again, or said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/attach/inject.h"
#include "inject/tracee/abandon.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"

/* Is there nothing of ours left? As long as that can't be looked at, no try says so. */
static void not_looked_at_is_not_pristine(void **state)
{
	struct inject in = { .at.target = TARGET_NONE, .lock = -1, .done = INJECT_RECORD + 1 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(inject_leave(&in, INJECT_RECORD) < 0);
		assert_false(in.pristine);
		assert_int_equal(in.done, INJECT_RECORD + 1);
	}
	in.at.target.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_int_equal(inject_leave(&in, INJECT_RECORD), 0);
	assert_true(in.pristine);
	assert_int_equal(in.done, INJECT_RECORD);
	(void)close(in.at.target.maps);
}

/* A process: it waits for a child of its own, and can't be stopped meanwhile. */
static pid_t begin_vfork(void)
{
	pid_t pid = fork(), child;

	if (pid != 0)
		return pid;
	child = vfork();
	if (child == 0) {
		(void)usleep(700000);
		_exit(0);
	}
	(void)pause();
	_exit(1);
}

static pid_t tracer_of(pid_t pid)
{
	struct proc_thread_status status;

	assert_int_equal(proc_read_thread_status(pid, pid, &status), 0);
	return status.tracer;
}

/* A thread that did not stop in time is ours until it does; what is compared is how we leave. */
static void abandoned_is_let_go_first(void **state)
{
	static struct inject in;
	struct target target = TARGET_NONE;
	struct tracee_stop stop;
	struct pidref ref = PIDREF_NONE;
	pid_t pid = begin_vfork();

	(void)state;
	(void)usleep(200000);
	assert_int_equal(pidref_open(pid, &ref), 0);
	assert_int_equal(target_open(&ref, &target), 0);
	assert_int_equal(inject_init(&in, &target), 0);
	assert_int_equal(inject_enter(&in, INJECT_RECORD), 0);

	assert_int_equal(tracee_seize(pid), 0);
	assert_int_equal(tracee_interrupt(pid), 0);
	assert_int_equal(tracee_wait(pid, tracee_now_ns(), &stop), -ETIME);
	abandon_tracee(pid);

	assert_int_equal(inject_leave(&in, INJECT_RECORD), 0);
	assert_string_equal(in.problem, "");
	assert_true(in.pristine);
	assert_int_equal(tracer_of(pid), 0);
	inject_done(&in);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_looked_at_is_not_pristine),
		cmocka_unit_test(abandoned_is_let_go_first),
	};

	if (tracee_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
