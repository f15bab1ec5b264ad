/* SPDX-License-Identifier: MIT */
/*
 * unwind_harness.c - runs a victim to its stop and takes what the unwinder needs.
 *
 * The victim announces its place with a SIGWINCH to itself, which a tracer sees
 * and nobody else. Files are opened by the path in maps, which does for tests.
 */
#include "tests/unit/unwind_harness.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <libunwind-ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

const char *harness_directory(void)
{
	static char directory[4096];
	const char *build = getenv("BUILDDIR");

	snprintf(directory, sizeof(directory), "%s/tests/victims", build ? build : ".");
	return directory;
}

const char *harness_path(const char *name)
{
	static char path[8192];

	snprintf(path, sizeof(path), "%s/%s", harness_directory(), name);
	return path;
}

static int open_file(void *context, const struct procmap *map)
{
	const struct harness *harness = context;
	char path[128];
	int fd;

	if (harness->refuse_files)
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", harness->pid,
		 (unsigned long)map->start, (unsigned long)map->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open(map->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct harness *harness = context;

	return pread(harness->memory, buffer, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -EIO;
}

static void run_child(const char *const *argv, int output)
{
	dup2(output, 1);
	/* Libraries land in the same places in every run: the plug-ins' trick needs it. */
	personality(ADDR_NO_RANDOMIZE);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* A test that failed left its process behind, whose stops the next one would see. */
static void end_process(pid_t pid)
{
	if (pid > 0)
		kill(pid, SIGKILL);
	for (int i = 0; i < 1000 && waitpid(-1, NULL, __WALL) > 0; i++)
		;
}

void harness_start(struct harness *harness, const char *const *argv)
{
	static pid_t last;
	struct module_source source = { open_file, read_memory, harness };
	char path[64];
	int output[2], status;

	memset(harness, 0, sizeof(*harness));
	end_process(last);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	harness->pid = fork();
	assert_true(harness->pid >= 0);
	last = harness->pid;
	alarm(120);
	if (harness->pid == 0)
		run_child(argv, output[1]);
	close(output[1]);
	harness->output = output[0];
	harness->tid = harness->pid;
	assert_int_equal(waitpid(harness->pid, &status, 0), harness->pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, harness->pid, NULL,
				PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE), 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", harness->pid);
	harness->memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(harness->memory >= 0);
	harness->stack = malloc(HARNESS_MAX_STACK);
	assert_non_null(harness->stack);
	assert_int_equal(modules_new(&source, &harness->modules), 0);
}

/* Goes on after any stop but the one that is waited for; signals are delivered. */
static bool wait_for_stop(struct harness *harness)
{
	for (int stops = 0; stops < 1000; stops++) {
		int status, signal;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0)
			return false;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == harness->pid)
				return false;
			continue;
		}
		signal = WSTOPSIG(status);
		harness->tid = tid;
		if (signal == SIGWINCH)
			return true;
		if (signal == SIGSTOP || signal == SIGTRAP)
			signal = 0;
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal);
	}
	fail_msg("no stop among 1000");
	return false;
}

bool harness_run_to_stop(struct harness *harness)
{
	assert_int_equal(ptrace(PTRACE_CONT, harness->tid, NULL, NULL), 0);
	return wait_for_stop(harness);
}

static bool is_in_syscall(pid_t pid, long number)
{
	char path[64], text[256] = "";
	long now;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return sscanf(text, "%ld", &now) == 1 && now == number;
}

void harness_run_to_syscall(struct harness *harness, long number)
{
	char byte;

	assert_int_equal(ptrace(PTRACE_CONT, harness->tid, NULL, NULL), 0);
	assert_int_equal(read(harness->output, &byte, 1), 1);
	for (int i = 0; i < 1000000 && !is_in_syscall(harness->pid, number); i++)
		sched_yield();
	assert_true(is_in_syscall(harness->pid, number));
	assert_int_equal(kill(harness->pid, SIGWINCH), 0);
	assert_true(wait_for_stop(harness));
}

bool harness_single_step(struct harness *harness)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, harness->tid, NULL, NULL) < 0 ||
	    waitpid(harness->tid, &status, __WALL) != harness->tid)
		return false;
	return WIFSTOPPED(status);
}

void harness_take_registers(struct harness *harness)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, harness->tid, NULL, &regs), 0);
	harness->input.registers = (struct unwind_registers){
		.rip = regs.rip, .rsp = regs.rsp, .rbp = regs.rbp, .rbx = regs.rbx,
		.r12 = regs.r12, .r13 = regs.r13, .r14 = regs.r14, .r15 = regs.r15,
	};
	harness->input.first_is_return = false;
}

static void take_stack(struct harness *harness, const struct procmaps *maps)
{
	uint64_t low = harness->input.registers.rsp - 128;
	const struct procmap *map = procmaps_find(maps, harness->input.registers.rsp);
	size_t bytes;

	assert_non_null(map);
	if (low < map->start)
		low = map->start;
	bytes = map->end - low < HARNESS_MAX_STACK ? map->end - low : HARNESS_MAX_STACK;
	assert_int_equal(pread(harness->memory, harness->stack, bytes, (off_t)low), bytes);
	harness->input.stack = harness->stack;
	harness->input.stack_address = low;
	harness->input.stack_bytes = bytes;
}

void harness_take(struct harness *harness)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", harness->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(procmaps_read(fd, &maps), 0);
	assert_true(modules_update(harness->modules, &maps) >= 0);
	harness_take_registers(harness);
	take_stack(harness, &maps);
}

void harness_end(struct harness *harness)
{
	end_process(harness->pid);
	modules_free(harness->modules);
	cleanup_fd(&harness->memory);
	cleanup_fd(&harness->output);
	free(harness->stack);
}

size_t harness_oracle(const struct harness *harness, uint64_t *address, size_t max)
{
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	void *context = _UPT_create(harness->tid);
	unw_cursor_t cursor;
	size_t count = 0;

	assert_non_null(space);
	assert_int_equal(unw_init_remote(&cursor, space, context), 0);
	do {
		unw_word_t ip;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (ip == 0)
			break;
		address[count++] = ip;
	} while (count < max && unw_step(&cursor) > 0);
	_UPT_destroy(context);
	unw_destroy_addr_space(space);
	return count;
}

void harness_read_line(struct harness *harness, char *line, size_t bytes)
{
	size_t at = 0;
	char byte;

	while (at + 1 < bytes && read(harness->output, &byte, 1) == 1 && byte != '\n')
		line[at++] = byte;
	line[at] = '\0';
}
