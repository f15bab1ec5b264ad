/* SPDX-License-Identifier: MIT */
/* test_leak_mark_vectors.c - vector registers as roots: they prove nothing, either way. */
#include "src/leak/mark/mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/leak_graph.h"

#define LOW	0x10000000ull
#define HIGH	0x10400000ull
#define ROOT	0x8000000ull

/* Blocks of 48 bytes. */
static uint64_t node(unsigned int i)
{
	return LOW + i * 64ull;
}

static void vector(struct graph *graph, uint64_t value)
{
	graph_register(graph, value);
	graph->roots.word[graph->roots.word_count - 1].number = ROOT_VECTOR;
}

static void begin(struct graph *graph, unsigned int count)
{
	graph_init(graph);
	graph_segment(graph, LOW, HIGH, 16);
	graph_root(graph, ROOT, ROOT + 64);
	for (unsigned int i = 0; i < count; i++)
		graph_add(graph, node(i), 48);
}

static void expect_kinds(struct graph *graph, const enum block_kind *kind, unsigned int count)
{
	for (unsigned int workers = 1; workers <= 3; workers++) {
		struct mark_input input = graph_input(graph, workers, 0);
		struct mark_sums sums;

		assert_int_equal(mark_run(&input, &sums), 0);
		for (unsigned int i = 0; i < count; i++)
			assert_int_equal(mark_kind(graph->blocks, node(i)), kind[i]);
	}
}

/* What they alone lead to, and all that hangs below it. */
static void what_they_hold_is_possibly_lost(void **state)
{
	static const enum block_kind kind[] = {
		BLOCK_POSSIBLY_LOST, BLOCK_POSSIBLY_LOST, BLOCK_DEFINITELY_LOST,
		BLOCK_POSSIBLY_LOST, BLOCK_INDIRECTLY_LOST,
	};
	struct graph graph;

	(void)state;
	begin(&graph, ARRAY_SIZE(kind));
	vector(&graph, node(0));
	graph_word(&graph, node(0), node(1));
	graph_word(&graph, node(2), node(0));	/* leads to it, and is lost all the same */
	graph_word(&graph, node(2) + 8, node(4));
	vector(&graph, node(3) + 20);
	vector(&graph, LOW - 8);
	vector(&graph, node(4) + 48);	/* behind its end */
	expect_kinds(&graph, kind, ARRAY_SIZE(kind));
	graph_done(&graph);
}

/* Other words count as they do without. */
static void what_others_hold_is_reachable(void **state)
{
	static const enum block_kind kind[] = {
		BLOCK_REACHABLE, BLOCK_REACHABLE, BLOCK_REACHABLE, BLOCK_POSSIBLY_LOST,
	};
	struct graph graph;

	(void)state;
	begin(&graph, ARRAY_SIZE(kind));
	graph_word(&graph, ROOT, node(0));
	graph_word(&graph, node(0), node(1));
	graph_register(&graph, node(2));
	for (unsigned int i = 0; i < ARRAY_SIZE(kind); i++)
		vector(&graph, node(i));
	expect_kinds(&graph, kind, ARRAY_SIZE(kind));
	graph_done(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_they_hold_is_possibly_lost),
		cmocka_unit_test(what_others_hold_is_reachable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
