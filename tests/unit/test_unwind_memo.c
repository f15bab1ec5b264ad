/* SPDX-License-Identifier: MIT */
/*
 * test_unwind_memo.c - the memo answers what a walk would, or nothing.
 *
 * Differential: stacks of real processes are moved, cut and damaged at random,
 * and each result of unwinder_stack() is compared with a walk that knows no memo.
 * A copy can be moved: its words that point into it are moved along.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/unwind/unwind.h"
#include "src/unwind/unwind_memo.h"
#include "tests/unit/unwind_harness.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

struct bench {
	struct harness harness;
	struct unwinder *unwinder;
	struct stacks *stacks;
	uint8_t *copy;
	struct unwind_input input;	/* over copy */
	size_t compared, complete;
};

static void start(struct bench *bench, const char *victim, const char *scene, const char *argument)
{
	const char *argv[] = { harness_path(victim), scene, argument, NULL };

	memset(bench, 0, sizeof(*bench));
	harness_start(&bench->harness, argv);
	assert_true(harness_run_to_stop(&bench->harness));
	harness_take(&bench->harness);
	assert_int_equal(unwinder_new(bench->harness.modules, &bench->unwinder), 0);
	assert_int_equal(stacks_new(&bench->stacks), 0);
	bench->copy = malloc(HARNESS_MAX_STACK);
	assert_non_null(bench->copy);
}

static void finish(struct bench *bench)
{
	free(bench->copy);
	unwinder_free(bench->unwinder);
	stacks_free(bench->stacks);
	harness_end(&bench->harness);
}

static void reset(struct bench *bench)
{
	bench->input = bench->harness.input;
	memcpy(bench->copy, bench->harness.stack, bench->input.stack_bytes);
	bench->input.stack = bench->copy;
}

static void move_word(const struct unwind_input *input, uint64_t *word, uint64_t by)
{
	if (*word - input->stack_address < input->stack_bytes)
		*word += by;
}

/* As if the whole stack had been at another place. */
static void move(struct bench *bench, uint64_t by)
{
	struct unwind_input *input = &bench->input;
	uint64_t *registers = &input->registers.rip;

	for (size_t at = 0; at + 8 <= input->stack_bytes; at += 8) {
		uint64_t word;

		memcpy(&word, bench->copy + at, 8);
		move_word(input, &word, by);
		memcpy(bench->copy + at, &word, 8);
	}
	for (size_t i = 0; i < sizeof(input->registers) / 8; i++)
		move_word(input, &registers[i], by);
	input->stack_address += by;
}

static void compare(struct bench *bench)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	struct stack stack;
	uint32_t count, id;

	assert_int_equal(unwinder_walk(bench->unwinder, &bench->input, frame, &count, &end), 0);
	assert_int_equal(unwinder_stack(bench->unwinder, bench->stacks, &bench->input, &id), 0);
	stack = stacks_get(bench->stacks, id);
	assert_int_equal(stack.frame_count, count);
	assert_memory_equal(stack.frame, frame, count * sizeof(frame[0]));
	assert_int_equal(stack.flags, end == UNWIND_COMPLETE ? 0 : STACK_TRUNCATED);
	bench->compared++;
	bench->complete += end == UNWIND_COMPLETE;
}

/* A value that could lead a walk astray: addresses in and near the stack, code, small numbers. */
static uint64_t plausible(const struct bench *bench)
{
	const struct unwind_input *input = &bench->input;
	uint64_t word;

	switch (random_word() % 6) {
	case 0:
		return input->registers.rsp + random_word() % 4096;
	case 1:
		return input->registers.rsp - random_word() % 64;
	case 2:
		return input->stack_address + input->stack_bytes + random_word() % 64 - 32;
	case 3:
		return random_word() % 64;
	case 4:
		memcpy(&word, bench->copy + random_word() % 256 * 8, 8);
		return word;
	}
	return random_word();
}

static void damage(struct bench *bench)
{
	struct unwind_input *input = &bench->input;
	uint64_t *registers = &input->registers.rip;
	uint64_t word = plausible(bench);

	switch (random_word() % 8) {
	case 0:
		registers[2 + random_word() % 6] = word;
		break;
	case 1:
		input->stack_bytes = random_word() % 4096;
		break;
	case 2:
		input->registers.rsp += random_word() % 3 * 8;
		break;
	case 3:
		break;
	default:
		memcpy(bench->copy + random_word() % 2048 / 8 * 8, &word, 8);
	}
}

static void differ(const char *victim, const char *scene, const char *argument, int rounds)
{
	struct unwind_stats stats;
	struct bench bench;

	start(&bench, victim, scene, argument);
	for (int i = 0; i < rounds; i++) {
		reset(&bench);
		if (random_word() % 4)
			move(&bench, random_word() % 3 ? random_word() % 4096 * 16
						       : random_word() % (1ull << 40));
		for (uint64_t n = random_word() % 4; n > 0; n--)
			damage(&bench);
		compare(&bench);
	}
	unwinder_stats(bench.unwinder, &stats);
	print_message("%s %s: %zu compared, %zu complete, %lu from the memo, %lu unfit, %zu KiB\n",
		      victim, scene, bench.compared, bench.complete,
		      (unsigned long)stats.memo_hits, (unsigned long)stats.memo_unfit,
		      stats.memo_bytes >> 10);
	/* Else it would have compared nothing: */
	assert_true(stats.memo_hits > bench.compared / 20);
	assert_true(bench.complete > bench.compared / 20);
	assert_int_equal(stats.memo_conflicts, 0);
	/* Only addresses that no stack has: rare, or it would be of no use. */
	assert_true(stats.memo_unfit < bench.compared / 100);
	finish(&bench);
}

static void differ_plain(void **state)
{
	(void)state;
	differ("unwind_victim", "plain", NULL, 20000);
}

static void differ_sort(void **state)
{
	(void)state;
	differ("unwind_victim", "sort", NULL, 20000);
}

static void differ_thread(void **state)
{
	(void)state;
	differ("unwind_victim", "thread", NULL, 20000);
}

static void differ_signal(void **state)
{
	(void)state;
	differ("unwind_victim", "signal", NULL, 20000);
}

static void differ_debug_frame(void **state)
{
	(void)state;
	differ("unwind_debugframe", "plain", NULL, 20000);
}

static void differ_jit(void **state)
{
	(void)state;
	differ("unwind_victim", "jit", NULL, 20000);
}

static void differ_cxx(void **state)
{
	(void)state;
	differ("unwind_cxx", NULL, NULL, 20000);
}

/* One path at many addresses is walked once. */
static void moved_stacks_are_recognised(void **state)
{
	struct unwind_stats stats;
	struct bench bench;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	for (int i = 0; i < 1000; i++) {
		uint32_t id;

		reset(&bench);
		move(&bench, (uint64_t)i * 4096);
		assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id),
				 0);
		assert_int_equal(id, 1);
	}
	unwinder_stats(bench.unwinder, &stats);
	assert_int_equal(stats.walks, 1);
	assert_int_equal(stats.memo_hits, 999);
	finish(&bench);
}

/* Bytes that no frame's rules read do not matter. */
static void other_bytes_do_not_matter(void **state)
{
	struct unwind_stats stats;
	struct bench bench;
	uint32_t id;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	reset(&bench);
	assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id), 0);
	memset(bench.copy, 0x5a, 120);		/* below rsp */
	bench.input.registers.r12 ^= 0x1234;
	assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id), 0);
	unwinder_stats(bench.unwinder, &stats);
	assert_int_equal(stats.memo_hits, 1);
	finish(&bench);
}

/* A change of modules empties it. */
static void new_modules_empty_it(void **state)
{
	struct unwind_stats stats;
	struct bench bench;
	uint32_t id;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	reset(&bench);
	assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id), 0);
	assert_int_equal(modules_set_shim(bench.harness.modules, NULL, 0, 0), 0);
	assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id), 0);
	unwinder_stats(bench.unwinder, &stats);
	assert_int_equal(stats.memo_hits, 0);
	assert_int_equal(stats.memo_flushes, 1);
	finish(&bench);
}

/* It never takes more memory than it may: full, it starts again, and is right all the time. */
static void stays_within_its_memory(void **state)
{
	static struct memo_trace trace;
	struct unwind_input input = { 0 };
	struct unwind_memo *memo;
	uint32_t flushes = 0;

	(void)state;
	assert_int_equal(unwind_memo_new(&memo), 0);
	trace.count = 1000;
	for (uint32_t i = 0; i < 1000; i++)
		trace.read[i] = (struct memo_read){ .kind = MEMO_REGISTER, .where = CFI_RBX };
	for (uint32_t i = 1; i <= 10000; i++) {
		int r;

		input.registers.rip = i;
		input.registers.rsp = 1ull << 40;
		r = unwind_memo_add(memo, &input, &trace, i);
		assert_true(r >= 0);
		flushes += (uint32_t)r;
		assert_true(unwind_memo_bytes(memo) <= MEMO_MAX_BYTES);
		assert_int_equal(unwind_memo_find(memo, &input), i);
	}
	assert_true(flushes > 0);
	unwind_memo_free(memo);
	unwind_memo_free(NULL);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Only printed: what a walk costs, with and without the memo. */
static void measure(const char *victim, const char *scene, const char *argument)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	const int walks = 2000, finds = 200000;
	enum unwind_end end;
	struct bench bench;
	uint32_t count, id;
	double t0, t1, t2, t3;

	start(&bench, victim, scene, argument);
	reset(&bench);
	t0 = now();
	assert_int_equal(unwinder_walk(bench.unwinder, &bench.input, frame, &count, &end), 0);
	t1 = now();
	for (int i = 0; i < walks; i++)
		assert_int_equal(unwinder_walk(bench.unwinder, &bench.input, frame, &count, &end),
				 0);
	t2 = now();
	for (int i = 0; i < finds; i++)
		assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.input, &id),
				 0);
	t3 = now();
	print_message("%s %s, %u frames: first walk %.0f us, walk %.1f us, memo hit %.3f us\n",
		      victim, scene, count, t1 - t0, (t2 - t1) / walks, (t3 - t2) / finds);
	finish(&bench);
}

static void measured(void **state)
{
	(void)state;
	measure("unwind_victim", "plain", NULL);
	measure("unwind_victim", "deep", "15");
	measure("unwind_cxx", NULL, NULL);
	measure("unwind_debugframe", "plain", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_stacks_are_recognised),
		cmocka_unit_test(other_bytes_do_not_matter),
		cmocka_unit_test(new_modules_empty_it),
		cmocka_unit_test(stays_within_its_memory),
		cmocka_unit_test(differ_plain),
		cmocka_unit_test(differ_sort),
		cmocka_unit_test(differ_thread),
		cmocka_unit_test(differ_signal),
		cmocka_unit_test(differ_debug_frame),
		cmocka_unit_test(differ_jit),
		cmocka_unit_test(differ_cxx),
		cmocka_unit_test(measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
