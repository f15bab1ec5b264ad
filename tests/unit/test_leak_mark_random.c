/* SPDX-License-Identifier: MIT */
/* test_leak_mark_random.c - marks random graphs like a naive reference, and this very process. */
#include "src/base/sanitized.h"
#include "src/leak/mark/mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/leak_graph.h"
#include "tests/unit/leak_picture.h"
#include "tests/unit/roll.h"

#define LOW	0x10000000ull
#define UPPER	0x200000000000ull
#define ROOT	0x8000000ull

struct shape {
	unsigned int blocks, gap, large, pointers, roots, inner;	/* see the caller */
	uint64_t segment_bytes;
};

static uint64_t random_size(const struct shape *shape)
{
	if (shape->large && roll(100) < shape->large)
		return 4000 + roll(300000);
	return 1 + roll(roll(3) ? 64 : 500);
}

static void fill_segment(struct graph *graph, const struct shape *shape, uint64_t low,
			 unsigned int granule)
{
	uint64_t high = low + shape->segment_bytes, at = low;

	graph_segment(graph, low, high, granule);
	for (unsigned int i = 0; i < shape->blocks; i++) {
		uint64_t bytes = random_size(shape);

		at += roll(3) ? 0 : roll(shape->gap) * granule;
		if (at + bytes > high)
			break;
		graph_add(graph, at, bytes);
		at += (bytes + granule - 1) / granule * granule;
	}
}

static uint64_t random_pointer(const struct graph *graph, const struct shape *shape)
{
	const struct graph_block *block = &graph->block[roll(graph->count)];

	if (roll(100) >= shape->inner)
		return block->address;
	switch (roll(5)) {
	case 0:
		return block->address + 8;
	case 1:
		return block->address + 24;
	case 2:
		return block->address + block->bytes;
	case 3:
		return block->address + roll(block->bytes);
	default:
		return block->address + (roll(block->bytes) & ~7ull);
	}
}

static void fill_block(struct graph *graph, const struct shape *shape,
		       struct graph_block *block)
{
	uint64_t words = block->bytes / 8;

	if (!roll(3))
		block->asked = block->bytes - roll(block->bytes < 24 ? block->bytes : 24);
	if (words && !roll(4))
		graph_word(graph, block->address, roll(block->bytes + 8));
	if (words > 1 && !roll(4))
		graph_word(graph, block->address + 8, roll(block->bytes + 8));
	for (unsigned int i = 0; words && i < shape->pointers; i++)
		if (roll(3))
			graph_word(graph, block->address + roll(words) * 8,
				   random_pointer(graph, shape));
}

/* Memory that is about what the marking needs, so that there is none for many records. */
static size_t scarce(struct graph *graph, unsigned int workers)
{
	struct mark_input input = graph_input(graph, workers, 1);
	struct mark_sums sums;

	assert_int_equal(mark_run(&input, &sums), 0);
	return sums.memory + roll(8192) - 4096;
}

static void check_at_random(struct graph *graph)
{
	unsigned int workers = 1 + (unsigned int)roll(3);

	graph_check(graph, workers, roll(2) ? 64u << 20 : scarce(graph, workers));
}

/* In small blocks, in large ones, over several, over the end of a segment. */
static void random_holes(struct graph *graph, const struct shape *shape)
{
	for (uint64_t i = roll(12); i; i--) {
		uint64_t low = (roll(2) ? UPPER : LOW) + (roll(shape->segment_bytes) & ~4095ull);

		graph_hole(graph, low, low + (1 + roll(roll(3) ? 3 : 4096)) * 4096);
	}
}

static void random_graph(const struct shape *shape)
{
	struct graph graph;

	graph_init(&graph);
	fill_segment(&graph, shape, UPPER, 16);
	fill_segment(&graph, shape, LOW, roll(2) ? 8 : 16);
	if (roll(2))
		fill_segment(&graph, shape, LOW + shape->segment_bytes, 16);
	for (size_t i = 0; i < graph.count; i++)
		fill_block(&graph, shape, &graph.block[i]);
	if (!roll(3))
		random_holes(&graph, shape);
	graph_root(&graph, ROOT, ROOT + 1024);
	for (unsigned int i = 0; i < shape->roots; i++)
		graph_word(&graph, ROOT + roll(128) * 8, random_pointer(&graph, shape));
	if (roll(2))
		graph_register(&graph, random_pointer(&graph, shape));
	graph.heuristics = roll(3) ? MARK_ALL_HEURISTICS : (unsigned int)roll(32);
	graph_reference(&graph);
	check_at_random(&graph);
	if (!roll(3))
		check_at_random(&graph);
	graph_done(&graph);
}

static unsigned int rounds(unsigned int full)
{
	const char *text = getenv("LEAK_ROUNDS_DIVISOR");
	int divisor = text ? atoi(text) : MEMATTACH_SANITIZED ? 12 : 2;

	return full / (unsigned int)(divisor > 0 ? divisor : 1) + 1;
}

static void test_random_small(void **state)
{
	(void)state;
	for (unsigned int i = rounds(6000); i; i--) {
		struct shape shape = { .blocks = 2 + (unsigned int)roll(12),
				       .gap = 8,
				       .pointers = 1 + (unsigned int)roll(3),
				       .roots = (unsigned int)roll(3),
				       .inner = (unsigned int)roll(60),
				       .segment_bytes = 16384 };

		random_graph(&shape);
	}
}

static void test_random_chunks(void **state)
{
	(void)state;
	for (unsigned int i = rounds(150); i; i--) {
		struct shape shape = { .blocks = 50 + (unsigned int)roll(600),
				       .gap = 600,
				       .large = (unsigned int)roll(3),
				       .pointers = 1 + (unsigned int)roll(3),
				       .roots = 1 + (unsigned int)roll(12),
				       .inner = (unsigned int)roll(40),
				       .segment_bytes = 4u << 20 };

		random_graph(&shape);
	}
}

static void test_random_dense(void **state)
{
	(void)state;
	for (unsigned int i = rounds(6); i; i--) {
		struct shape shape = { .blocks = 6000,
				       .gap = 4,
				       .large = 1,
				       .pointers = 2,
				       .roots = 3,
				       .inner = i % 2 ? 10 : 0,
				       .segment_bytes = 32u << 20 };

		random_graph(&shape);
	}
}

/* ---- this very process ---- */

struct item {
	struct item *next, *twin;
	char text[48];
};
static struct item pool[4096];
static struct item *volatile held;

static void test_own_process(void **state)
{
	struct picture picture;
	struct blocks *blocks;
	struct root root = { .low = (uintptr_t)&held, .high = (uintptr_t)&held + 8 };
	struct roots roots = { .count = 1, .root = &root, .bytes = 8 };
	struct mark_input input = { .picture = &picture, .roots = &roots,
				    .heuristics = MARK_ALL_HEURISTICS, .workers = 2 };
	struct mark_sums sums;
	uint64_t low = (uintptr_t)pool & ~15ull;
	pid_t child;

	(void)state;
	assert_int_equal(blocks_new(&blocks), 0);
	assert_int_equal(blocks_add_segment(blocks, low, low + sizeof(pool) + 16, 8), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pool); i++) {
		assert_int_equal(blocks_add(blocks, (uintptr_t)&pool[i], sizeof(pool[i])), 0);
		pool[i].next = i % 1024 ? &pool[i - 1] : NULL;
		pool[i].twin = &pool[i];
	}
	held = &pool[1023];
	input.blocks = blocks;
	child = leak_picture_fork(&picture);
	held = NULL;
	assert_int_equal(mark_run(&input, &sums), 0);
	leak_picture_end(child, &picture);
	assert_int_equal(sums.count[BLOCK_REACHABLE], 1024);
	assert_int_equal(sums.count[BLOCK_DEFINITELY_LOST], 3);
	assert_int_equal(sums.count[BLOCK_INDIRECTLY_LOST], 3069);
	blocks_free(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_small),
		cmocka_unit_test(test_random_chunks),
		cmocka_unit_test(test_random_dense),
		cmocka_unit_test(test_own_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
