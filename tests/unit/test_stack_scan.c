/* SPDX-License-Identifier: MIT */
/* test_stack_scan.c - which words on a stack could be returned by, on it and on those below it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/abi/ring_abi.h"
#include "inject/arch/x86_64/frame.h"
#include "inject/quiesce/stack_scan.h"

#define PAGE 4096
#define SELECTORS 0x002b000000000033ull
#define WORDS (2 * PAGE / 8)

/* This program is the target. */
static struct target self;
static struct procmaps maps;
static uint64_t *stack, *other;		/* two mappings of two pages */

/* Of code, and of a page of island entries; no address of this program. */
static const struct stack_range ranges[] = {
	{ .low = 0x100000, .high = 0x101000 },
	{ .low = 0x200000, .high = 0x201000, .islands = true },
	{ .low = 0x300000, .high = 0x301000, .calls_low = 0x300400, .calls_high = 0x300800 },
};
static const uint64_t original =
	0x200000 + 3 * sizeof(struct ring_island_entry) +
	offsetof(struct ring_island_entry, original);

static uint64_t *map_stack(void)
{
	void *at = mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	assert_true(at != MAP_FAILED);
	/* a page of no access behind it, so that mappings never join */
	assert_int_equal(mprotect((char *)at + PAGE, PAGE, PROT_NONE), 0);
	return at;
}

static int set_up(void **state)
{
	struct pidref ref = PIDREF_NONE;

	(void)state;
	if (pidref_open(getpid(), &ref) || target_open(&ref, &self))
		return -1;
	stack = map_stack();
	other = map_stack();
	return procmaps_read(self.maps, &maps);
}

static int tear_down(void **state)
{
	(void)state;
	procmaps_done(&maps);
	target_done(&self);
	return munmap(stack, WORDS * 8) || munmap(other, WORDS * 8);
}

static int empty(void **state)
{
	(void)state;
	memset(stack, 0, PAGE);
	memset(other, 0, PAGE);
	return 0;
}

/* The stack from its word `from` to the end of its page. */
static bool clean_from(size_t from)
{
	const struct stack_scan scan = { .target = &self, .maps = &maps, .range = ranges,
					 .count = ARRAY_SIZE(ranges) };

	return stack_scan_clean(&scan, (uintptr_t)&stack[from], (uintptr_t)stack + PAGE);
}

/* A signal frame's words that matter, its stack pointer at word at: as the kernel lays them out. */
static void put_frame(uint64_t *at, uint64_t sp, uint64_t ip)
{
	at[0] = sp;
	at[1] = ip;
	at[FRAME_SELECTORS_AFTER_SP / 8] = SELECTORS;
}

static void test_words(void **state)
{
	(void)state;
	assert_true(clean_from(0));
	stack[100] = ranges[0].high;
	assert_true(clean_from(0));
	stack[100] = ranges[0].low;
	assert_false(clean_from(0));
	assert_true(clean_from(101));
	stack[100] = 0;
	stack[PAGE / 8 - 1] = ranges[0].high - 1;
	assert_false(clean_from(0));
}

/* An entry's original on the stack was left by a hook; every other place in an island counts. */
static void test_left_by_hook(void **state)
{
	(void)state;
	stack[100] = original;
	assert_true(clean_from(0));
	for (uint64_t off = 1; off < sizeof(struct ring_island_entry); off++) {
		stack[100] = original + off;
		assert_false(clean_from(0));
	}
	/* The same offset in a range that holds no islands. */
	stack[100] = original - ranges[1].low + ranges[0].low;
	assert_false(clean_from(0));
}

/* Of a range that says where its calls are only these count. */
static void test_left_by_what_hooks_call(void **state)
{
	const struct stack_range *r = &ranges[2];

	(void)state;
	stack[100] = r->low;
	stack[101] = r->calls_low - 1;
	stack[102] = r->calls_high;
	stack[103] = r->high - 1;
	assert_true(clean_from(0));
	for (size_t i = 100; i < 104; i++) {
		uint64_t left = stack[i];

		stack[i] = i % 2 ? r->calls_low : r->calls_high - 1;
		assert_false(clean_from(0));
		stack[i] = left;
	}
	assert_true(clean_from(0));
}

/* A handler interrupted one of these functions. */
static void test_interrupted_in_what_hooks_call(void **state)
{
	(void)state;
	put_frame(&stack[100], (uintptr_t)&stack[400], ranges[2].low);
	assert_false(clean_from(0));
	put_frame(&stack[100], (uintptr_t)&other[200], ranges[2].high - 1);
	assert_false(clean_from(0));
}

/* A handler interrupted a thread at the first byte of an original: it will return there. */
static void test_interrupted_at_original(void **state)
{
	(void)state;
	put_frame(&stack[100], (uintptr_t)&stack[400], original);
	assert_false(clean_from(0));
	stack[100 + FRAME_SELECTORS_AFTER_SP / 8] = 0;
	assert_true(clean_from(0));
}

/* What a handler on an alternate stack interrupted is scanned, too. */
static void test_interrupted_stack(void **state)
{
	(void)state;
	put_frame(&stack[100], (uintptr_t)&other[200], 1);
	assert_true(clean_from(0));
	other[199] = ranges[0].low;
	assert_true(clean_from(0));
	other[200] = ranges[0].low;
	assert_false(clean_from(0));
	other[200] = original;
	assert_true(clean_from(0));
}

/* A frame whose stack pointer is on no stack is one long gone. */
static void test_forged_frame(void **state)
{
	(void)state;
	put_frame(&stack[100], 0x1234, 1);
	assert_true(clean_from(0));
	put_frame(&stack[100], UINT64_MAX, 1);
	assert_true(clean_from(0));
}

/* Frames without end: more stacks than are followed are not clean. */
static void test_many_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < 30; i++)
		put_frame(&stack[200 + 4 * i], (uintptr_t)&stack[190 - 4 * i], 1);
	assert_false(clean_from(200));
}

/* What can't be read, or is too much, is not clean. */
static void test_not_to_be_read(void **state)
{
	const struct stack_scan scan = { .target = &self, .maps = &maps, .range = ranges,
					 .count = ARRAY_SIZE(ranges) };
	uint64_t low = (uintptr_t)stack;

	(void)state;
	assert_true(stack_scan_clean(&scan, low, low + PAGE));
	assert_false(stack_scan_clean(&scan, low, low + (32u << 20)));
	assert_false(stack_scan_clean(&scan, low, low - 8));
	assert_false(stack_scan_clean(&scan, 0x1000, 0x2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_words, empty),
		cmocka_unit_test_setup(test_left_by_hook, empty),
		cmocka_unit_test_setup(test_left_by_what_hooks_call, empty),
		cmocka_unit_test_setup(test_interrupted_in_what_hooks_call, empty),
		cmocka_unit_test_setup(test_interrupted_at_original, empty),
		cmocka_unit_test_setup(test_interrupted_stack, empty),
		cmocka_unit_test_setup(test_forged_frame, empty),
		cmocka_unit_test_setup(test_many_frames, empty),
		cmocka_unit_test_setup(test_not_to_be_read, empty),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
