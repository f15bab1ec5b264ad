/* SPDX-License-Identifier: MIT */
/*
 * test_recording_begun.c - who makes a recording is killed before each of its system calls that
 * changes a file: what is left can be read, or is said to have nothing in it, not to be damaged;
 * and what was read once is there from then on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "tests/unit/sample_recording.h"

#define MOST_CALLS 1000

static bool changes_a_file(long call)
{
	static const long calls[] = {
		SYS_pwrite64, SYS_write, SYS_ftruncate, SYS_unlink, SYS_fsync, SYS_fdatasync,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

static int make_recording(void)
{
	struct recording *recording;
	struct sample sample;

	if (recording_open_soon(sample_path, &recording) < 0)
		return 1;
	sample_init(&sample, true);
	for (uint64_t second = 0; second < 2; second++) {
		sample_second(&sample, second, 0);
		sample_add(recording, &sample);
	}
	sample_done(&sample);
	return recording_close(recording) == 0 ? 0 : 1;
}

static pid_t begin(void)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
		_exit(1);
	_exit(make_recording());
}

/* Kills a writer before its n-th change. False: it made less, and is done. */
static bool killed_before(int n)
{
	pid_t child = begin();
	int status, changes = 0;
	bool entry = false;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	while (WIFSTOPPED(status)) {
		struct user_regs_struct r;

		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &r), 0);
		entry = WSTOPSIG(status) == SIGTRAP && !entry;
		if (entry && changes_a_file((long)r.orig_rax) && ++changes == n) {
			(void)kill(child, SIGKILL);
			assert_int_equal(waitpid(child, &status, 0), child);
			return true;
		}
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return false;
}

/* Intervals in what is left; 0 also where there is no file. */
static uint32_t intervals_left(int n)
{
	struct recording_content content;
	int error = access(sample_path, F_OK) == 0 ? recording_read(sample_path, &content) :
						     -ENODATA;
	uint32_t count;

	if (error == -ENODATA)
		return 0;
	if (error < 0)
		fail_msg("killed before change %d: %s", n, strerror(-error));
	/* ten blocks of each of three kinds */
	count = (uint32_t)content.snapshot->totals.live_count / 30;
	recording_content_done(&content);
	return count;
}

static void nothing_is_said_to_be_damaged(void **state)
{
	uint32_t before = 0, count = 0;
	int n = 0;

	(void)state;
	while (++n < MOST_CALLS && killed_before(n)) {
		count = intervals_left(n);
		assert_true(count >= before && count <= 2);
		before = count;
		sample_recording_remove();
	}
	assert_in_range(n, 10, MOST_CALLS - 1);
	assert_int_equal(before, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_said_to_be_damaged,
						sample_recording_begin, sample_recording_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
