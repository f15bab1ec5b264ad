/* SPDX-License-Identifier: MIT */
/*
 * preflight_child.h - targets for the tests of preflight, and what to expect of them.
 *
 * Targets are children that announce themselves on a pipe and end when the
 * test closes theirs. Those that need nothing of ours call exec on cat, so that
 * the tests also hold in a sanitizer build, whose own children are refused as
 * instrumented: what comes after that check is skipped there.
 */
#ifndef MEMATTACH_TEST_PREFLIGHT_CHILD_H
#define MEMATTACH_TEST_PREFLIGHT_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "inject/preflight/preflight.h"
#include "inject/tracee/proc_status.h"
#include "src/base/sanitized.h"

#define NOBODY 65534
#define MIB    (1ull << 20)

struct child {
	pid_t pid;
	int go; /* closing it ends the child */
	struct pidref ref;
};

/* Becomes cat, or waits for the end of its input. */
static inline void child_run(int ready, int input, bool (*prepare)(void), bool exec)
{
	char byte;

	dup2(input, STDIN_FILENO);
	if (prepare && !prepare())
		_exit(77);
	if (exec)
		execl("/bin/cat", "cat", NULL);
	if (write(ready, "x", 1) == 1)
		_exit(read(STDIN_FILENO, &byte, 1) != 0);
	_exit(99);
}

/* cat has been loaded once it waits for input; it has no way of its own to say so. */
static inline void wait_for_cat(pid_t pid)
{
	struct proc_thread_syscall call = { .running = true };

	for (int i = 0; i < 10000; i++) {
		assert_int_equal(proc_read_thread_syscall(pid, pid, &call), 0);
		if (!call.running && call.number == SYS_read && call.argument[0] == STDIN_FILENO)
			return;
		usleep(1000);
	}
	fail();
}

/* Skips the test when prepare could not do what it should. */
static inline void child_begin(struct child *child, bool (*prepare)(void), bool exec)
{
	int ready[2], input[2];
	char byte;
	ssize_t n;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(input[1]);
		child_run(ready[1], input[0], prepare, exec);
	}
	close(ready[1]);
	close(input[0]);
	n = read(ready[0], &byte, 1);
	close(ready[0]);
	child->go = input[1];
	/* Closed without a byte: exec, or the end. */
	if (n == 0 && waitpid(child->pid, NULL, WNOHANG) == child->pid)
		skip();
	assert_int_equal(pidref_open(child->pid, &child->ref), 0);
	if (exec)
		wait_for_cat(child->pid);
}

static inline void child_end(struct child *child)
{
	close(child->go);
	pidref_done(&child->ref);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static const struct preflight_options ordinary = { .memory_bytes = 16 * MIB };

static inline bool instrumented(void)
{
	return MEMATTACH_SANITIZED;
}

static inline void expect_with(const struct child *child, const struct preflight_options *options,
			       enum preflight_code code)
{
	struct preflight_report report;

	assert_int_equal(preflight_check(&child->ref, options, &report), 0);
	if (report.code != code)
		print_message("%s: %s; %s\n", preflight_code_name(report.code), report.reason,
			      report.remedy);
	assert_string_equal(preflight_code_name(report.code), preflight_code_name(code));
	assert_int_equal(report.reason[0] == '\0', code == PREFLIGHT_OK);
	assert_int_equal(report.remedy[0] == '\0', code == PREFLIGHT_OK);
	assert_null(strchr(report.reason, '\n'));
	assert_null(strchr(report.remedy, '\n'));
}

static inline void expect(const struct child *child, enum preflight_code code)
{
	expect_with(child, &ordinary, code);
}

/* A whole test of one kind of target. */
static inline void check_target(bool (*prepare)(void), bool exec, enum preflight_code code)
{
	struct child child;

	if (!exec && code > PREFLIGHT_INSTRUMENTED && instrumented())
		skip();
	child_begin(&child, prepare, exec);
	expect(&child, code);
	child_end(&child);
}

#endif
