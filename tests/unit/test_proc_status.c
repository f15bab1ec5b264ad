/* SPDX-License-Identifier: MIT */
/* test_proc_status.c - this process and its children, as the kernel describes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "inject/tracee/proc_status.h"

static void status_of_itself(void **state)
{
	struct proc_thread_status s;
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR2);
	assert_int_equal(prctl(PR_SET_NAME, "a:b\tc) d", 0, 0, 0), 0);
	assert_int_equal(proc_read_status(getpid(), &s), 0);
	assert_string_equal(s.name, "a:b\tc) d");
	assert_int_equal(s.state, 'R');
	assert_int_equal(s.process, getpid());
	assert_int_equal(s.parent, getppid());
	assert_int_equal(s.tracer, 0);
	assert_int_equal(s.threads, 1);
	assert_int_equal(s.uid[1], geteuid());
	assert_int_equal(s.gid[0], getgid());
	assert_int_equal(s.seccomp, prctl(PR_GET_SECCOMP));
	assert_int_equal(s.sig_blocked & 1u << (SIGUSR2 - 1), 1u << (SIGUSR2 - 1));
	assert_int_equal((s.sig_pending | s.shared_pending) & 1u << (SIGUSR2 - 1),
			 1u << (SIGUSR2 - 1));
	assert_true(s.has_memory && s.vm_bytes > s.rss_bytes && s.rss_bytes > 4096);
	assert_true(s.ns_levels >= 1);
	assert_false(s.kernel_thread);
}

static void status_counts_locked_memory(void **state)
{
	struct proc_thread_status s;
	void *page = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* Not mlock(): a sanitizer makes that a no-op. */
	if (syscall(SYS_mlock, page, 65536) != 0)
		skip();
	assert_int_equal(proc_read_status(getpid(), &s), 0);
	assert_int_equal(s.locked_bytes, 65536);
	munmap(page, 65536);
}

static void status_of_kernel_thread(void **state)
{
	struct proc_thread_status s;

	(void)state;
	if (proc_read_status(2, &s) != 0 || strcmp(s.name, "kthreadd") != 0)
		skip();
	assert_false(s.has_memory);
}

static void gone_process(void **state)
{
	struct proc_thread_status s;
	struct proc_thread_syscall call;
	uint64_t number;
	pid_t *tids;

	(void)state;
	assert_int_equal(proc_read_status(0x7ffffff0, &s), -ESRCH);
	assert_int_equal(proc_read_thread_status(getpid(), 1, &s), -ESRCH);
	assert_int_equal(proc_read_thread_syscall(getpid(), 1, &call), -ESRCH);
	assert_int_equal(proc_read_run_count(getpid(), 1, &number), -ESRCH);
	assert_int_equal(proc_list_threads(0x7ffffff0, &tids), -ESRCH);
	assert_int_equal(proc_live_thread(0x7ffffff0), -ESRCH);
}

/* A line of 65,000 groups stands between what we read; nothing after it may be lost. */
static void status_after_long_line(void **state)
{
	static gid_t groups[60000];
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct proc_thread_status s;

		for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
			groups[i] = (gid_t)(100000 + i);
		if (setgroups(ARRAY_SIZE(groups), groups) != 0)
			_exit(77);
		if (proc_read_status(getpid(), &s) != 0)
			_exit(1);
		_exit(s.has_memory && s.threads == 1 && s.uid[0] == getuid() ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void write_all(int fd, const char *text, size_t length)
{
	assert_int_equal(write(fd, text, length), (ssize_t)length);
}

/* Around the buffer's size: lines arrive whole, cut ones once, and the next one is intact. */
static void lines_of_any_length(void **state)
{
	static char text[20000];

	(void)state;
	for (size_t length = 4085; length < 4105; length++) {
		_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
		_cleanup_fd_ int fd = memfd_create("lines", MFD_CLOEXEC);
		const char *line;

		memset(text, 'x', length);
		write_all(fd, "first\n", 6);
		write_all(fd, text, length);
		write_all(fd, "\n\nlast", 6);
		lines.fd = dup(fd);
		lseek(fd, 0, SEEK_SET);
		assert_int_equal(proc_lines_next(&lines, &line), 1);
		assert_string_equal(line, "first");
		assert_int_equal(proc_lines_next(&lines, &line), 1);
		assert_true(strlen(line) == length || strlen(line) == 2047);
		assert_int_equal(strspn(line, "x"), strlen(line));
		assert_int_equal(proc_lines_next(&lines, &line), 1);
		assert_string_equal(line, "");
		assert_int_equal(proc_lines_next(&lines, &line), 1);
		assert_string_equal(line, "last");
		assert_int_equal(proc_lines_next(&lines, &line), 0);
		assert_int_equal(proc_lines_next(&lines, &line), 0);
	}
}

struct helper {
	int up[2], down[2];
	pthread_t thread;
	pid_t tid;
};

static void *helper_run(void *argument)
{
	struct helper *helper = argument;
	char byte;

	helper->tid = (pid_t)syscall(SYS_gettid);
	if (write(helper->up[1], "x", 1) != 1)
		abort();
	/* A raw call, so that the descriptor is its first argument and nothing else follows. */
	syscall(SYS_read, helper->down[0], &byte, 1);
	return NULL;
}

static void helper_begin(struct helper *helper)
{
	char byte;

	assert_int_equal(pipe(helper->up), 0);
	assert_int_equal(pipe(helper->down), 0);
	assert_int_equal(pthread_create(&helper->thread, NULL, helper_run, helper), 0);
	assert_int_equal(read(helper->up[0], &byte, 1), 1);
}

static void helper_end(struct helper *helper)
{
	close(helper->down[1]);
	pthread_join(helper->thread, NULL);
	close(helper->down[0]);
	close(helper->up[0]);
	close(helper->up[1]);
}

/* Waits (bounded) until the thread is seen blocked in read. */
static int wait_blocked(pid_t tid, struct proc_thread_syscall *call)
{
	for (int i = 0; i < 10000; i++) {
		int r = proc_read_thread_syscall(getpid(), tid, call);

		if (r < 0 || (!call->running && call->number == SYS_read))
			return r;
		sched_yield();
	}
	return -ETIME;
}

static void syscall_of_blocked_thread(void **state)
{
	struct proc_thread_syscall call;
	struct proc_thread_status s;
	struct helper helper;
	uint64_t before, after;

	(void)state;
	helper_begin(&helper);
	assert_int_equal(wait_blocked(helper.tid, &call), 0);
	assert_int_equal(call.argument[0], helper.down[0]);
	assert_int_equal(call.argument[2], 1);
	assert_true(call.sp != 0 && call.pc != 0);
	assert_int_equal(proc_read_run_count(getpid(), helper.tid, &before), 0);
	assert_int_equal(proc_read_thread_status(getpid(), helper.tid, &s), 0);
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.process, getpid());
	assert_int_equal(s.threads, 2);
	assert_int_equal(proc_read_run_count(getpid(), helper.tid, &after), 0);
	assert_int_equal(before, after);
	helper_end(&helper);
}

static void syscall_of_running_thread(void **state)
{
	struct proc_thread_syscall call;

	(void)state;
	assert_int_equal(proc_read_thread_syscall(getpid(), getpid(), &call), 0);
	/* A thread that reads its own is in read(), not "running". */
	assert_true(call.running || call.number == SYS_read);
}

static void list_many_threads(void **state)
{
	static struct helper helpers[200];
	_cleanup_free_ pid_t *tids = NULL;
	pid_t few[3];
	_cleanup_fd_ int task = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		helper_begin(&helpers[i]);
	n = proc_list_threads(getpid(), &tids);
	assert_int_equal(n, ARRAY_SIZE(helpers) + 1);
	for (int i = 1; i < n; i++)
		assert_true(tids[i - 1] < tids[i]);
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
		int found = 0;

		for (int k = 0; k < n; k++)
			found += tids[k] == helpers[i].tid;
		assert_int_equal(found, 1);
	}
	assert_int_equal(proc_list_task(task, few, ARRAY_SIZE(few)), n);
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		helper_end(&helpers[i]);
}

static void *stay(void *argument)
{
	char byte;

	_exit(read(*(int *)argument, &byte, 1) < 0);
}

static void live_thread_of_dead_leader(void **state)
{
	struct proc_thread_status s;
	int pipe_fd[2];
	pid_t pid, tid = 0;

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		close(pipe_fd[1]);
		pthread_create(&thread, NULL, stay, &pipe_fd[0]);
		syscall(SYS_exit, 0);
	}
	for (int i = 0; i < 100000 && (tid == 0 || tid == pid); i++) {
		tid = proc_live_thread(pid);
		sched_yield();
	}
	assert_true(tid > 0 && tid != pid);
	assert_int_equal(proc_read_status(pid, &s), 0);
	assert_int_equal(s.state, 'Z');
	assert_int_equal(proc_read_thread_status(pid, tid, &s), 0);
	assert_true(s.has_memory);
	close(pipe_fd[1]);
	close(pipe_fd[0]);
	waitpid(pid, NULL, 0);
}

static void limits_and_numbers(void **state)
{
	const struct rlimit limit = { 12345678, RLIM_INFINITY };
	struct rlimit core;
	uint64_t value;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	core.rlim_cur = core.rlim_max < 4096 ? core.rlim_max : 4096;
	assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
	assert_int_equal(proc_read_limit(getpid(), "Max core file size", &value), 0);
	assert_int_equal(value, core.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
	assert_int_equal(proc_read_limit(getpid(), "Max data size", &value), 0);
	assert_int_equal(value, 12345678);
	assert_int_equal(setrlimit(RLIMIT_DATA, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }),
			 0);
	assert_int_equal(proc_read_limit(getpid(), "Max data size", &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(proc_read_limit(getpid(), "Max nonsense", &value), -ENODATA);
	assert_int_equal(proc_read_number("/proc/meminfo", "MemTotal:", &value), 0);
	assert_true(value > 1024);
	assert_int_equal(proc_read_number("/proc/sys/kernel/pid_max", "", &value), 0);
	assert_true(value > 300);
	assert_int_equal(proc_read_number("/proc/self/comm", "", &value), -ENODATA);
	assert_int_equal(proc_read_number("/nowhere", "", &value), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_of_itself),
		cmocka_unit_test(status_counts_locked_memory),
		cmocka_unit_test(status_of_kernel_thread),
		cmocka_unit_test(gone_process),
		cmocka_unit_test(status_after_long_line),
		cmocka_unit_test(lines_of_any_length),
		cmocka_unit_test(syscall_of_blocked_thread),
		cmocka_unit_test(syscall_of_running_thread),
		cmocka_unit_test(list_many_threads),
		cmocka_unit_test(live_thread_of_dead_leader),
		cmocka_unit_test(limits_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
