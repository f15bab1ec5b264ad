/* SPDX-License-Identifier: MIT */
/*
 * planner_target.h - another process to make a hook plan for: started with or
 * without a preloaded library, or compiled on the spot, and read as the analyst
 * reads it. One at a time.
 */
#ifndef MEMATTACH_TESTS_PLANNER_TARGET_H
#define MEMATTACH_TESTS_PLANNER_TARGET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "src/plan/hook_planner.h"

struct target {
	pid_t pid;
	int mem;
	struct elf_reader reader;
	struct procmaps maps;
	char auxv[4096];
	size_t auxv_bytes;
	struct planner_file exe;
	struct hook_plan plan;
};

static struct target target;

static inline int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Waits until the only thread of pid is blocked in system call number (its /proc syscall file). */
static inline bool wait_blocked(pid_t pid, long number)
{
	const struct timespec pause = { 0, 2000000 };

	for (int i = 0; i < 5000; i++) {
		_cleanup_fd_ int fd = open_proc(pid, "syscall");
		char text[64] = "";

		if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || waitpid(pid, NULL, WNOHANG))
			return false;
		if (isdigit((unsigned char)text[0]) && strtol(text, NULL, 10) == number)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static inline pid_t spawn(const char *preload, char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++)
			dup2(open("/dev/null", O_RDWR), fd);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* file: see struct hook_planner_input; it gets the struct target. */
static inline int plan_target(uint32_t track, bool map_only, allocator_file_fn *file)
{
	const struct hook_planner_input input = {
		.maps = &target.maps, .reader = &target.reader, .auxv = target.auxv,
		.auxv_bytes = target.auxv_bytes, .track = track, .map_only = map_only,
		.file = file, .file_context = &target,
	};

	return hook_planner_run(&input, &target.plan);
}

static inline void target_stop(void)
{
	if (target.pid > 0) {
		kill(target.pid, SIGKILL);
		waitpid(target.pid, NULL, 0);
		procmaps_done(&target.maps);
		close(target.mem);
	}
	memset(&target, 0, sizeof(target));
}

/* Starts argv and waits until it blocks in the system call number. Skips what is not installed. */
static inline void target_start(const char *preload, char *const argv[], long number)
{
	_cleanup_fd_ int maps = -1, auxv = -1;
	ssize_t count;

	target_stop();
	if (preload && access(preload, R_OK) != 0)
		skip();
	target.pid = spawn(preload, argv);
	assert_true(target.pid > 0);
	if (!wait_blocked(target.pid, number)) {
		kill(target.pid, SIGKILL);
		waitpid(target.pid, NULL, 0);
		target.pid = 0;
		skip();
	}
	target.mem = open_proc(target.pid, "mem");
	target.reader = (struct elf_reader){ elf_reader_fd, &target.mem };
	maps = open_proc(target.pid, "maps");
	auxv = open_proc(target.pid, "auxv");
	count = read(auxv, target.auxv, sizeof(target.auxv));
	assert_true(count > 0);
	target.auxv_bytes = (size_t)count;
	assert_int_equal(procmaps_read(maps, &target.maps), 0);
}

static inline void start_sleep(const char *preload)
{
	char *const argv[] = { (char *)"sleep", (char *)"1000", NULL };

	target_start(preload, argv, SYS_clock_nanosleep);
}

static inline void read_memory(uint64_t address, void *buffer, size_t bytes)
{
	assert_int_equal(elf_reader_fd(&target.mem, address, buffer, bytes), 0);
}

static inline const struct hook_entry *find(uint32_t family, const char *name)
{
	for (uint32_t i = 0; i < target.plan.entry_count; i++) {
		const struct hook_entry *entry = &target.plan.entry[i];

		if (entry->family == family && strcmp(entry->name, name) == 0)
			return entry;
	}
	return NULL;
}

static char directory[] = "/tmp/test_hook_planner.XXXXXX";

/* Compiles text to directory/name with further flags; skips without a compiler. */
static inline void build(const char *name, const char *flags, const char *text)
{
	char path[96], command[480];
	FILE *source;

	snprintf(path, sizeof(path), "%s/%s.c", directory, name);
	source = fopen(path, "we");
	assert_non_null(source);
	fputs(text, source);
	fclose(source);
	snprintf(command, sizeof(command), "cc -O2 -w -o %s/%s %s %s 2>/dev/null", directory, name,
		 path, flags);
	if (system(command) != 0)
		skip();
}

static inline int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
	char command[96];

	(void)state;
	target_stop();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

#endif
