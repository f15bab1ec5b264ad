/* SPDX-License-Identifier: MIT */
/*
 * test_loader_locks.c - a lock of the dynamic loader that fork left behind is told from one that a
 * thread holds, and from what can't be told.
 *
 * The lock is made up, in a child, behind the loader's own data, where nothing else lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/quiesce/loader_locks.h"

#define NOBODY 0x3ffffff	/* more than any thread's number */

/* As glibc has it when it is held once. */
struct held {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind, rest;
};

/* The end of the loader's writable data. */
static struct held *place(void)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *loader;
	uint64_t end = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	assert_int_equal(procmaps_read(fd, &maps), 0);
	(void)close(fd);
	loader = procmaps_find(&maps, getauxval(AT_BASE));
	assert_non_null(loader);
	for (const struct procmap *map = loader; map < maps.map + maps.count; map++)
		if (map->inode == loader->inode || (map->inode == 0 && map->start == end))
			end = map->end;
	return (struct held *)end - 1;
}

/* A child that holds the lock in the name of owner; 0: nobody holds it, -1: it does itself. */
static struct target child_with(pid_t owner)
{
	struct held *held = place();
	struct target target = TARGET_NONE;
	struct pidref ref;
	char byte;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (owner)
			*held = (struct held){ 1, 1, owner > 0 ? owner : getpid(), 1,
					       PTHREAD_MUTEX_RECURSIVE_NP, 0 };
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	assert_int_equal(pidref_open(pid, &ref), 0);
	assert_int_equal(target_open(&ref, &target), 0);
	return target;
}

static void end(struct target *target)
{
	pid_t pid = target->ref.pid;

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	target_done(target);
}

static void is_told(pid_t owner, int expected)
{
	struct target target = child_with(owner);

	assert_int_equal(loader_locks_stuck(&target), expected);
	end(&target);
}

static void held_by_none(void **state)
{
	(void)state;
	is_told(0, 0);
}

static void held_by_its_thread(void **state)
{
	(void)state;
	is_told(-1, 0);
}

static void left_behind(void **state)
{
	(void)state;
	is_told(NOBODY, 1);
}

/* What can't be read holds no lock, nor is it free. */
static void not_readable(void **state)
{
	struct target target = child_with(NOBODY);
	int *descriptor[] = { &target.mem, &target.maps };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int kept = *descriptor[i];

		*descriptor[i] = -1;
		assert_true(loader_locks_stuck(&target) < 0);
		*descriptor[i] = kept;
	}
	assert_int_equal(loader_locks_stuck(&target), 1);
	end(&target);
	target.ref.pid = NOBODY;
	assert_true(loader_locks_stuck(&target) < 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_by_none),
		cmocka_unit_test(held_by_its_thread),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(not_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
