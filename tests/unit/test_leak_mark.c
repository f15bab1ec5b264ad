/* SPDX-License-Identifier: MIT */
/* test_leak_mark.c - kinds, leaders and heuristics of graphs made by hand. */
#include "src/leak/mark/mark.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/leak_graph.h"

#define LOW	0x10000000ull
#define HIGH	0x10400000ull
#define FAR	0x7f0000000000ull	/* not in the memfd: a segment that can't be read */
#define UPPER	0x200000000000ull
#define ROOT	0x8000000ull

static void check(struct graph *graph)
{
	static const size_t memory[] = { 1, 0, 64u << 20 };

	graph_reference(graph);
	for (unsigned int workers = 1; workers <= 3; workers++)
		for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
			graph_check(graph, workers, memory[i]);
}

static void begin(struct graph *graph)
{
	graph_init(graph);
	graph_segment(graph, LOW, HIGH, 16);
	graph_root(graph, ROOT, ROOT + 64);
}

static enum block_kind kind(const struct graph *graph, uint64_t address)
{
	return mark_kind(graph->blocks, address);
}

/* A number of blocks of 48 bytes, LOW + i * 64, each to be linked by words. */
static uint64_t node(unsigned int i)
{
	return LOW + i * 64ull;
}
static void nodes(struct graph *graph, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		graph_add(graph, node(i), 48);
}
static void points(struct graph *graph, unsigned int from, unsigned int word, unsigned int to)
{
	graph_word(graph, node(from) + word * 8, node(to));
}

static void test_empty(void **state)
{
	struct graph graph;
	struct mark_sums sums;
	struct mark_input input;

	(void)state;
	graph_init(&graph);
	input = graph_input(&graph, 2, 0);
	assert_int_equal(mark_run(&input, &sums), 0);
	assert_int_equal(sums.count[BLOCK_REACHABLE], 0);
	graph_segment(&graph, LOW, HIGH, 16);
	assert_int_equal(mark_run(&input, &sums), 0);
	assert_int_equal(sums.scanned_bytes, 0);
	input.workers = 0;
	assert_int_equal(mark_run(&input, &sums), -EINVAL);
	graph_done(&graph);
}

static void test_chain(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 2000);
	for (unsigned int i = 0; i < 999; i++)
		points(&graph, i, 2, i + 1);
	for (unsigned int i = 1999; i > 1000; i--)
		points(&graph, i, 0, i - 1);
	graph_word(&graph, ROOT, node(0));
	check(&graph);
	assert_int_equal(kind(&graph, node(999)), BLOCK_REACHABLE);
	/* Against the order of addresses each leader is claimed by the next. */
	assert_int_equal(kind(&graph, node(1000)), BLOCK_INDIRECTLY_LOST);
	assert_int_equal(kind(&graph, node(1999)), BLOCK_DEFINITELY_LOST);
	graph_done(&graph);
}

static void test_tree_and_dag(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 1023);
	for (unsigned int i = 0; i < 511; i++) {
		points(&graph, i, 0, 2 * i + 1);
		points(&graph, i, 1, 2 * i + 2);
		points(&graph, i, 3, (i * 7 + 600) % 511 + 512);
	}
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(1022)), BLOCK_INDIRECTLY_LOST);
	graph_register(&graph, node(1));
	check(&graph);
	assert_int_equal(kind(&graph, node(3)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(2)), BLOCK_INDIRECTLY_LOST);
	graph_done(&graph);
}

/* 1 -> 2 -> 3 -> 1 with a tail 3 -> 4, and 0 -> 2 from below, 5 -> 3 from above. */
static void test_cycles(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 12);
	points(&graph, 1, 0, 2);
	points(&graph, 2, 0, 3);
	points(&graph, 3, 0, 1);
	points(&graph, 3, 1, 4);
	check(&graph);
	assert_int_equal(kind(&graph, node(1)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(4)), BLOCK_INDIRECTLY_LOST);
	points(&graph, 5, 1, 3);
	check(&graph);
	/* As memcheck: 3 is claimed already, so 1 stays a leader beside 5. */
	assert_int_equal(kind(&graph, node(1)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(5)), BLOCK_DEFINITELY_LOST);
	points(&graph, 5, 2, 1);
	check(&graph);
	assert_int_equal(kind(&graph, node(1)), BLOCK_INDIRECTLY_LOST);
	points(&graph, 0, 1, 2);
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_DEFINITELY_LOST);
	/* Two cycles joined: 6 <-> 7 and 8 <-> 9 by 9 -> 6. */
	points(&graph, 6, 0, 7);
	points(&graph, 7, 0, 6);
	points(&graph, 8, 0, 9);
	points(&graph, 9, 0, 8);
	points(&graph, 9, 1, 6);
	check(&graph);
	assert_int_equal(kind(&graph, node(6)), BLOCK_INDIRECTLY_LOST);
	assert_int_equal(kind(&graph, node(8)), BLOCK_DEFINITELY_LOST);
	graph_done(&graph);
}

static void test_self_pointers(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 3);
	points(&graph, 0, 0, 0);
	graph_word(&graph, node(1), node(1) + 8);
	graph_word(&graph, node(2), node(2));
	graph_word(&graph, ROOT, node(2) + 16);
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(1)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(2)), BLOCK_POSSIBLY_LOST);
	graph_done(&graph);
}

static void test_interior(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 8);
	graph_word(&graph, ROOT, node(0) + 16);
	points(&graph, 0, 0, 1);
	points(&graph, 1, 0, 2);
	graph_word(&graph, ROOT + 8, node(3) + 47);	/* the last byte */
	graph_word(&graph, ROOT + 16, node(4) + 48);	/* one behind */
	graph_word(&graph, ROOT + 24, node(5) + 3);
	graph_word(&graph, ROOT + 32, node(5));
	check(&graph);
	assert_int_equal(kind(&graph, node(2)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(3)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(4)), BLOCK_DEFINITELY_LOST);
	assert_int_equal(kind(&graph, node(5)), BLOCK_REACHABLE);
	/* A start pointer to what was possibly lost lifts all that is behind it. */
	graph_register(&graph, node(1));
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(2)), BLOCK_REACHABLE);
	graph_done(&graph);
}

static void test_heuristics_by_size(void **state)
{
	struct graph graph;
	static const unsigned int one[] = { MARK_STDSTRING, MARK_LENGTH64, MARK_NEWARRAY, 0 };

	(void)state;
	begin(&graph);
	nodes(&graph, 6);
	/* std::string "hello" of capacity 20, asked for with 45 bytes. */
	graph_word(&graph, node(0), 5);
	graph_word(&graph, node(0) + 8, 20);
	graph_word(&graph, ROOT, node(0) + 24);
	/* A length of 35 bytes behind it: 43 asked for. */
	graph_word(&graph, node(1), 35);
	graph_word(&graph, ROOT + 8, node(1) + 8);
	/* 3 elements of 12 bytes: 44 asked for; and 41 of one byte are 9 too many. */
	graph_word(&graph, node(2), 3);
	graph_word(&graph, ROOT + 16, node(2) + 8);
	graph_word(&graph, node(3), 41);
	graph_word(&graph, ROOT + 24, node(3) + 8);
	points(&graph, 2, 3, 4);
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(1)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(4)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(3)), BLOCK_POSSIBLY_LOST);
	for (size_t i = 0; i < ARRAY_SIZE(one); i++) {
		graph.heuristics = one[i];
		check(&graph);
		assert_int_equal(kind(&graph, node(0)),
				 one[i] == MARK_STDSTRING ? BLOCK_REACHABLE : BLOCK_POSSIBLY_LOST);
	}
	graph_done(&graph);
}

/* As above, but it is known that 40 of the 48 bytes were asked for: only what fits these counts. */
static void test_heuristics_by_asked_size(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 6);
	for (size_t i = 0; i < graph.count; i++)
		graph.block[i].asked = 40;
	graph_word(&graph, node(0) + 8, 20);	/* a capacity for 45 bytes */
	graph_word(&graph, ROOT, node(0) + 24);
	graph_word(&graph, node(1) + 8, 15);	/* for 40 */
	graph_word(&graph, ROOT + 8, node(1) + 24);
	graph_word(&graph, node(2), 3);		/* elements: 32 bytes are no multiple of 3 */
	graph_word(&graph, ROOT + 16, node(2) + 8);
	graph_word(&graph, node(3), 4);
	graph_word(&graph, ROOT + 24, node(3) + 8);
	graph_word(&graph, node(4), 35);	/* a length for 43 bytes */
	graph_word(&graph, ROOT + 32, node(4) + 8);
	graph_word(&graph, node(5), 32);	/* for 40 */
	graph_word(&graph, ROOT + 40, node(5) + 8);
	check(&graph);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(kind(&graph, node(i)),
				 i % 2 ? BLOCK_REACHABLE : BLOCK_POSSIBLY_LOST);
	graph_done(&graph);
}

/* new T[0] gives a pointer behind the number, which is all that the block holds. */
static void test_empty_array(void **state)
{
	static const uint64_t asked[] = { 8, 24, 0 };
	struct graph graph;

	(void)state;
	begin(&graph);
	graph.heuristics = MARK_NEWARRAY | MARK_SDS;
	for (unsigned int i = 0; i < ARRAY_SIZE(asked); i++) {
		graph_add(&graph, node(i), 24);
		graph.block[i].asked = asked[i];
		graph_word(&graph, ROOT + 8 * i, node(i) + 8);
	}
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(1)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(2)), BLOCK_REACHABLE);
	graph_done(&graph);
}

/* The strings of redis: kind 1 has a length and a room of one byte each, then its kind. */
static void test_sds(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	nodes(&graph, 4);
	graph_word(&graph, node(0), 0x6f6c6c6568010805ull);	/* "hello", room for 8: 12 of 48 */
	graph_word(&graph, ROOT, node(0) + 3);
	graph_word(&graph, node(1), 0x6f6c6c6568012a05ull);	/* room for 42 */
	graph_word(&graph, ROOT + 8, node(1) + 3);
	graph_word(&graph, node(2), 0x6f6c6c6568012a04ull);	/* does not end where it says */
	graph_word(&graph, ROOT + 16, node(2) + 3);
	graph_word(&graph, node(3), 0x6f6c6c6568022a05ull);	/* of another kind */
	graph_word(&graph, ROOT + 24, node(3) + 3);
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(1)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(2)), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, node(3)), BLOCK_POSSIBLY_LOST);
	graph.heuristics &= ~(unsigned int)MARK_SDS;
	check(&graph);
	assert_int_equal(kind(&graph, node(1)), BLOCK_POSSIBLY_LOST);
	graph_done(&graph);
}

static void test_multiple_inheritance(void **state)
{
	static const char maps[] = "01000000-01001000 r-xp 00000000 08:01 7 /bin/program\n"
				   "01001000-01002000 r--p 00001000 08:01 7 /bin/program\n"
				   "01002000-01003000 rw-p 00000000 00:00 0 \n";
	struct graph graph;

	(void)state;
	begin(&graph);
	assert_int_equal(procmaps_parse(maps, sizeof(maps) - 1, &graph.picture.maps), 0);
	for (uint64_t at = 0x1001010; at < 0x1001100; at += 8)
		graph_word(&graph, at, at % 16 ? 0x1000100 + at % 64 : 0);
	nodes(&graph, 6);
	for (unsigned int i = 0; i < 5; i++) {
		graph_word(&graph, node(i), 0x1001010);
		graph_word(&graph, node(i) + 16, 0x1001020);
		/* The chain leads through second bases. */
		graph_word(&graph, node(i) + 24, node(i + 1) + 16);
	}
	graph_word(&graph, ROOT, node(0) + 16);
	check(&graph);
	assert_int_equal(kind(&graph, node(4)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(5)), BLOCK_POSSIBLY_LOST);
	graph_word(&graph, node(3) + 16, 0x1002000);	/* not of a file */
	check(&graph);
	assert_int_equal(kind(&graph, node(2)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(3)), BLOCK_POSSIBLY_LOST);
	graph_done(&graph);
}

static void test_segment_ends_and_granules(void **state)
{
	struct graph graph;

	(void)state;
	graph_init(&graph);
	graph_segment(&graph, LOW, LOW + 4096, 8);
	graph_segment(&graph, LOW + 4096, LOW + 8192, 16);
	graph_segment(&graph, UPPER, UPPER + 4096, 8);
	for (uint64_t i = 0; i < 512; i++)
		graph_add(&graph, LOW + i * 8, 1 + i % 8);
	graph_add(&graph, LOW + 4096, 16);
	graph_add(&graph, LOW + 8176, 16);
	graph_add(&graph, UPPER + 4088, 8);
	graph_add(&graph, UPPER, 4000);
	graph_root(&graph, ROOT, ROOT + 64);
	graph_word(&graph, ROOT, UPPER + 4095);
	graph_word(&graph, UPPER + 4088, LOW + 8191);
	graph_word(&graph, LOW + 8184, LOW + 4088);
	graph_word(&graph, ROOT + 8, LOW + 4087);	/* behind the 7 bytes of its block */
	graph_word(&graph, ROOT + 16, LOW + 4078);
	graph_word(&graph, UPPER + 3992, UPPER + 4096);
	check(&graph);
	assert_int_equal(kind(&graph, UPPER + 4088), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, LOW + 4088), BLOCK_POSSIBLY_LOST);
	assert_int_equal(kind(&graph, LOW + 4080), BLOCK_DEFINITELY_LOST);
	graph_done(&graph);
}

static void test_large_blocks(void **state)
{
	struct graph graph;
	uint64_t big = UPPER + 0x1000, bytes = 1ull << 30;

	(void)state;
	begin(&graph);
	graph_segment(&graph, UPPER, UPPER + (3ull << 30), 16);
	graph_add(&graph, big, bytes);
	graph_add(&graph, big + bytes, bytes + 24);
	nodes(&graph, 200);
	for (unsigned int i = 0; i < 100; i++)
		graph_word(&graph, big + i * (bytes / 100 & ~7ull), node(i));
	graph_word(&graph, big + bytes - 8, node(100));
	graph_word(&graph, big + 2 * bytes + 16, node(101));
	graph_word(&graph, node(100), big + bytes / 2 + 5);
	graph_word(&graph, ROOT, big);
	graph_reference(&graph);
	graph_check(&graph, 2, 0);
	assert_int_equal(kind(&graph, node(100)), BLOCK_REACHABLE);
	assert_int_equal(kind(&graph, node(101)), BLOCK_INDIRECTLY_LOST);
	graph_done(&graph);
}

/* Words in holes do not count, and would be seen if they were read. */
static void test_holes(void **state)
{
	struct graph graph;
	uint64_t big = UPPER + 0x1000, bytes = 1ull << 30;

	(void)state;
	begin(&graph);
	graph_segment(&graph, UPPER, UPPER + (2ull << 30), 16);
	graph_add(&graph, big, bytes);
	nodes(&graph, 100);
	for (unsigned int i = 0; i < 100; i++)
		graph_word(&graph, big + i * (bytes / 100 & ~7ull), node(i));
	graph_word(&graph, ROOT, big);
	graph_hole(&graph, UPPER + (256ull << 20), UPPER + (512ull << 20));
	check(&graph);
	assert_int_equal(kind(&graph, node(30)), BLOCK_DEFINITELY_LOST);
	graph_done(&graph);
}

/*
 * More than a stack holds, from one block, each with another behind it. Everything is read
 * before the table is reached: only the last block leads to it.
 */
static void test_wide(void **state)
{
	enum { WIDE = 40000 };
	uint64_t table = LOW, first = LOW + 0x100000, next = UPPER, last = UPPER + 0xffff00;
	struct graph graph;

	(void)state;
	begin(&graph);
	graph_segment(&graph, UPPER, UPPER + 0x1000000, 16);
	graph_add(&graph, table, WIDE * 8);
	for (uint64_t i = 0; i < WIDE; i++) {
		graph_add(&graph, first + i * 64, 48);
		graph_add(&graph, next + i * 64, 40);
		graph_word(&graph, table + i * 8, first + i * 64);
		graph_word(&graph, first + i * 64 + 8, next + i * 7919 % WIDE * 64);
	}
	graph_add(&graph, last, 16);
	graph_word(&graph, last, table);
	graph_reference(&graph);
	for (unsigned int workers = 1; workers <= 2; workers++)
		graph_check(&graph, workers, 64u << 20);
	assert_int_equal(kind(&graph, last), BLOCK_DEFINITELY_LOST);
	graph_word(&graph, ROOT, last);
	check(&graph);
	assert_int_equal(kind(&graph, next), BLOCK_REACHABLE);
	graph_done(&graph);
}

/* Chunks of blocks that are reached late, between chunks of lost ones, with little memory. */
static void test_scarce_memory(void **state)
{
	enum { CHUNKS = 60, EACH = 60 };
	uint64_t gap = 256u << 10, last = UPPER + CHUNKS * gap;
	struct graph graph;
	struct mark_input input;
	struct mark_sums sums;

	(void)state;
	graph_init(&graph);
	graph_segment(&graph, UPPER, last + 64, 16);
	graph_add(&graph, last, 32);
	graph_root(&graph, ROOT, ROOT + 8);
	graph_word(&graph, ROOT, last);
	for (uint64_t i = 0; i < CHUNKS * EACH; i++) {
		uint64_t chunk = i / EACH, block = UPPER + chunk * gap + i % EACH * 4000;

		graph_add(&graph, block, 48);
		if (chunk + 3 < CHUNKS)
			graph_word(&graph, block, block + 3 * gap);
		if (i % EACH)
			graph_word(&graph, block + 8, block - 4000);
	}
	graph_word(&graph, last, UPPER + (EACH - 1) * 4000);
	graph_reference(&graph);
	input = graph_input(&graph, 2, 1);
	assert_int_equal(mark_run(&input, &sums), 0);
	for (unsigned int i = 0; i < 24; i++)
		graph_check(&graph, 2, sums.memory - 9000 + i * 1500);
	graph_done(&graph);
}

static void test_unreadable(void **state)
{
	struct graph graph;

	(void)state;
	begin(&graph);
	graph_segment(&graph, FAR, FAR + 0x100000, 16);
	nodes(&graph, 2);
	graph_add(&graph, FAR, 64);
	graph_add(&graph, FAR + 0x1000, 0x20000);
	graph_word(&graph, ROOT, FAR);
	graph_word(&graph, ROOT + 8, FAR + 0x1000);
	graph_word(&graph, ROOT + 16, node(0));
	check(&graph);
	assert_int_equal(kind(&graph, node(0)), BLOCK_REACHABLE);
	graph_done(&graph);
}

/* 4 GiB further on: what a pointer is when a small int was written over its lower half. */
static void test_half_pointers(void **state)
{
	uint64_t border = FAR + (1ull << 32), inside = border - 0x20000;
	const struct {
		uint64_t block, bytes, word;
		enum block_kind kind;
	} expected[] = {
		{ inside, 0x40000, border, BLOCK_DEFINITELY_LOST },
		{ inside, 0x40000, border + 1, BLOCK_DEFINITELY_LOST },
		{ inside, 0x40000, border + 0xffff, BLOCK_DEFINITELY_LOST },
		{ inside, 0x40000, border - 1, BLOCK_DEFINITELY_LOST },
		{ inside, 0x40000, border - 0x10000, BLOCK_DEFINITELY_LOST },
		{ inside, 0x40000, border + 0x10000, BLOCK_POSSIBLY_LOST },
		{ inside, 0x40000, border - 0x10001, BLOCK_POSSIBLY_LOST },
		{ border - 0x8000, 0x8001, border, BLOCK_DEFINITELY_LOST },
		{ border - 0x8000, 0x40000, border - 0x8000, BLOCK_REACHABLE },
		{ border, 0x40000, border, BLOCK_REACHABLE },
		/* Those that don't span it are as elsewhere: a slab of strings may lie there. */
		{ border, 0x40000, border + 1, BLOCK_POSSIBLY_LOST },
		{ border - 0x8000, 0x8000, border - 1, BLOCK_POSSIBLY_LOST },
		{ border + 0x100, 48, border + 0x110, BLOCK_POSSIBLY_LOST },
		{ border - 0x100, 48, border - 0xf8, BLOCK_POSSIBLY_LOST },
	};
	struct graph graph;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		begin(&graph);
		graph_segment(&graph, border - 0x100000, border + 0x100000, 16);
		nodes(&graph, 1);
		graph_add(&graph, expected[i].block, expected[i].bytes);
		graph_word(&graph, ROOT, expected[i].word);
		graph_word(&graph, node(0), border);	/* nor does it hang below another one */
		check(&graph);
		assert_int_equal(kind(&graph, expected[i].block), expected[i].kind);
		assert_int_equal(kind(&graph, node(0)), BLOCK_DEFINITELY_LOST);
		graph_done(&graph);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_tree_and_dag),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_self_pointers),
		cmocka_unit_test(test_interior),
		cmocka_unit_test(test_heuristics_by_size),
		cmocka_unit_test(test_heuristics_by_asked_size),
		cmocka_unit_test(test_empty_array),
		cmocka_unit_test(test_sds),
		cmocka_unit_test(test_multiple_inheritance),
		cmocka_unit_test(test_segment_ends_and_granules),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_scarce_memory),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_half_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
