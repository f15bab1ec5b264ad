/* SPDX-License-Identifier: MIT */
/* test_stacks.c - equal stacks have one id, others have others, and nothing moves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "src/modules/stacks.h"

static struct frame frame_at(uint64_t offset)
{
	return (struct frame){ .module = 1, .flags = FRAME_RETURN, .offset = offset };
}

static uint32_t intern(struct stacks *stacks, const struct frame *frame, uint32_t count,
		       uint32_t flags)
{
	uint32_t id = 0;

	assert_int_equal(stacks_intern(stacks, frame, count, flags, &id), 0);
	assert_int_not_equal(id, 0);
	return id;
}

static void equal_and_different(void **state)
{
	struct frame frame[3] = { frame_at(1), frame_at(2), frame_at(3) };
	struct stacks *stacks;
	uint32_t id;

	(void)state;
	assert_int_equal(stacks_new(&stacks), 0);
	id = intern(stacks, frame, 3, 0);
	assert_int_equal(id, 1);
	assert_int_equal(intern(stacks, frame, 3, 0), id);
	assert_int_not_equal(intern(stacks, frame, 2, 0), id);
	assert_int_not_equal(intern(stacks, frame + 1, 2, 0), id);
	assert_int_not_equal(intern(stacks, frame, 3, STACK_TRUNCATED), id);
	frame[1].module = 2;
	assert_int_not_equal(intern(stacks, frame, 3, 0), id);
	frame[1].module = 1;
	frame[1].flags = 0;
	assert_int_not_equal(intern(stacks, frame, 3, 0), id);
	assert_int_equal(stacks_count(stacks), 6);
	stacks_free(stacks);
}

static void empty_and_unknown(void **state)
{
	struct stacks *stacks;
	uint32_t id;

	(void)state;
	assert_int_equal(stacks_new(&stacks), 0);
	assert_int_equal(stacks_get(stacks, 0).frame_count, 0);
	assert_int_equal(stacks_get(stacks, 1).frame_count, 0);
	id = intern(stacks, NULL, 0, STACK_CALLER_ONLY);
	assert_int_equal(intern(stacks, NULL, 0, STACK_CALLER_ONLY), id);
	assert_int_equal(stacks_get(stacks, id).flags, STACK_CALLER_ONLY);
	stacks_free(stacks);
	stacks_free(NULL);
}

static void too_long_is_cut(void **state)
{
	static struct frame frame[STACKS_MAX_FRAMES + 1];
	struct stacks *stacks;
	struct stack stack;

	(void)state;
	assert_int_equal(stacks_new(&stacks), 0);
	stack = stacks_get(stacks, intern(stacks, frame, STACKS_MAX_FRAMES + 1, 0));
	assert_int_equal(stack.frame_count, STACKS_MAX_FRAMES);
	assert_int_equal(stack.flags, STACK_TRUNCATED);
	stacks_free(stacks);
}

/* Through many growths and chunks: ids stay, borrowed frames stay where they are. */
static void many(void **state)
{
	const uint32_t count = 50000;
	const struct frame *first;
	struct stacks *stacks;
	struct frame frame[8];

	(void)state;
	assert_int_equal(stacks_new(&stacks), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < count; i++) {
			for (uint32_t j = 0; j < 8; j++)
				frame[j] = frame_at(j < 7 ? j : i);
			assert_int_equal(intern(stacks, frame, 8, 0), i + 1);
			if (i == 0)
				first = stacks_get(stacks, 1).frame;
		}
	}
	assert_int_equal(stacks_count(stacks), count);
	assert_ptr_equal(stacks_get(stacks, 1).frame, first);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(stacks_get(stacks, i + 1).frame[7].offset, i);
	stacks_free(stacks);
}

/* Every third is kept, twice over: what stays is what it was, what went never comes back. */
static void sweeps(void **state)
{
	const uint32_t count = 30000;
	uint32_t dropped = 0, expected = 0;
	struct stacks *stacks;
	struct frame frame[40];
	size_t before;

	(void)state;
	assert_int_equal(stacks_new(&stacks), 0);
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < 40; j++)
			frame[j] = frame_at(i + j);
		assert_int_equal(intern(stacks, frame, 1 + i % 40, 0), i + 1);
	}
	before = stacks_bytes(stacks);
	for (uint32_t every = 3; every <= 9; every += 6) {
		for (uint32_t id = every; id <= count; id += every)
			stacks_keep(stacks, id);
		assert_int_equal(stacks_sweep(stacks, &dropped), 0);
		expected = every == 3 ? count - count / 3 : count / 3 - count / 9;
		assert_int_equal(dropped, expected);
		for (uint32_t id = 1; id <= count; id++) {
			struct stack stack = stacks_get(stacks, id);

			assert_int_equal(stacks_is_dropped(stacks, id), id % every != 0);
			assert_int_equal(stack.frame_count, id % every ? 0 : 1 + (id - 1) % 40);
			for (uint32_t j = 0; j < stack.frame_count; j++)
				assert_int_equal(stack.frame[j].offset, id - 1 + j);
		}
	}
	assert_int_equal(stacks_count(stacks), count);
	assert_int_equal(stacks_kept_count(stacks), count / 9);
	assert_true(stacks_bytes(stacks) < before / 4);
	/* What was dropped comes as a new one, what was kept is found. */
	for (uint32_t j = 0; j < 40; j++)
		frame[j] = frame_at(j);
	assert_int_equal(intern(stacks, frame, 1, 0), count + 1);
	for (uint32_t j = 0; j < 40; j++)
		frame[j] = frame_at(8 + j);
	assert_int_equal(intern(stacks, frame, 9, 0), 9);
	assert_false(stacks_is_dropped(stacks, count + 2));
	stacks_free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_and_different),
		cmocka_unit_test(empty_and_unknown),
		cmocka_unit_test(too_long_is_cut),
		cmocka_unit_test(many),
		cmocka_unit_test(sweeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
