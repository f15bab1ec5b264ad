/* SPDX-License-Identifier: MIT */
/* test_own_stack.c - control blocks as glibc and musl have them, and stacks beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/tracee/own_stack.h"

/* In one mapping: a fiber's stack, then the thread's own, with the control block at its end. */
enum { FIBER = 64 << 10, STACK = 256 << 10, BLOCK = 2304, PAGE = 4096 };

static struct target child;
static struct procmaps maps;
static uint64_t fiber, stack, block;

static int begin(void **state)
{
	struct pidref ref = PIDREF_NONE;
	char *room = mmap(NULL, FIBER + STACK + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	pid_t pid;

	(void)state;
	if (room == MAP_FAILED || mprotect(room + PAGE, FIBER + STACK, PROT_READ | PROT_WRITE))
		return -1;
	fiber = (uintptr_t)room + PAGE;
	stack = fiber + FIBER;
	block = stack + STACK - BLOCK;
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	if (pidref_open(pid, &ref) || target_open(&ref, &child))
		return -1;
	return procmaps_read(child.maps, &maps);
}

static int end(void **state)
{
	pid_t pid = child.ref.pid;

	(void)state;
	(void)kill(pid, SIGKILL);
	procmaps_done(&maps);
	target_done(&child);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

/* What the control block says, from its 20th word on. */
static void say(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t word[4] = { a, b, c, d };

	assert_int_equal(pwrite(child.mem, word, sizeof(word), (off_t)(block + 160)), sizeof(word));
}

static bool find(pid_t tid, uint64_t sp, struct own_stack *ret)
{
	return own_stack_find(&child, &maps, tid, sp, block, ret);
}

static void expect_own_alone(pid_t tid)
{
	struct own_stack own;

	assert_true(find(tid, stack + STACK / 2, &own));
	assert_int_equal(own.low, stack);
	assert_int_equal(own.high, block);
	assert_false(own.grows);
	assert_false(find(tid, fiber + FIBER / 2, &own));
	assert_false(find(tid, block + 8, &own));
}

/* struct pthread: stackblock, stackblock_size. The same for the first thread, if another forked. */
static void glibc_says_where_it_is(void **state)
{
	(void)state;
	say(7, stack, STACK, 1);
	expect_own_alone(child.ref.pid + 1);
	expect_own_alone(child.ref.pid);
}

/* map_base, map_size, stack, stack_size: of a map of its own, and of a stack it was given. */
static void musl_says_where_it_is(void **state)
{
	(void)state;
	say(stack, STACK, block - 64, STACK - BLOCK - 64);
	expect_own_alone(child.ref.pid + 1);
	say(0, STACK, block - 64, STACK - BLOCK - 64);
	expect_own_alone(child.ref.pid + 1);
	expect_own_alone(child.ref.pid);
}

/* A small number before a pointer to behind it, as a thread's id, is no place of a stack. */
static void small_numbers_are_no_places(void **state)
{
	(void)state;
	say(300, block, 1, 1);
	assert_false(find(child.ref.pid, stack + STACK / 2, &(struct own_stack){ 0 }));
	say(block - 100, 300, stack, STACK);
	expect_own_alone(child.ref.pid + 1);
}

/* Another libc's: all below the block, but for the first thread, whose block may lie anywhere. */
static void nothing_is_said(void **state)
{
	struct own_stack own;

	(void)state;
	say(0, 0, 0, 0);
	assert_true(find(child.ref.pid + 1, fiber + FIBER / 2, &own));
	assert_int_equal(own.low, 0);
	assert_int_equal(own.high, block);
	assert_false(find(child.ref.pid, stack + STACK / 2, &own));
}

static void the_kernels_stack_is_the_first_threads(void **state)
{
	struct own_stack own;

	(void)state;
	for (size_t i = 0; i < maps.count; i++) {
		if (strcmp(maps.map[i].path, "[stack]") != 0)
			continue;
		assert_true(find(child.ref.pid, maps.map[i].end - 8, &own));
		assert_true(own.grows);
		assert_int_equal(own.low, maps.map[i].start);
		assert_false(find(child.ref.pid + 1, maps.map[i].end - 8, &own));
		return;
	}
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glibc_says_where_it_is),
		cmocka_unit_test(musl_says_where_it_is),
		cmocka_unit_test(small_numbers_are_no_places),
		cmocka_unit_test(nothing_is_said),
		cmocka_unit_test(the_kernels_stack_is_the_first_threads),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
