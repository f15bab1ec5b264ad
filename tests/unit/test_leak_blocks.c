/* SPDX-License-Identifier: MIT */
/* test_leak_blocks.c - the block map against a plain array of the same blocks. */
#include "src/base/sanitized.h"
#include "src/leak/blocks/blocks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/roll.h"

#define LOW	0x10000000ull
#define UPPER	0x7f0000000000ull
#define GIB	(1ull << 30)

static struct blocks *fresh(void)
{
	struct blocks *blocks;

	assert_int_equal(blocks_new(&blocks), 0);
	return blocks;
}

static void check_find(const struct blocks *blocks, uint64_t pointer, uint64_t address,
		       uint64_t bytes)
{
	struct block block = { 0, 0 };

	assert_true(blocks_find(blocks, pointer, &block));
	assert_int_equal(block.address, address);
	assert_int_equal(block.bytes, bytes);
}

static void check_none(const struct blocks *blocks, uint64_t pointer)
{
	struct block block;

	assert_false(blocks_find(blocks, pointer, &block));
}

static void test_segments(void **state)
{
	struct blocks *blocks = fresh();
	const struct ranges *ranges;

	(void)state;
	assert_int_equal(blocks_segments(blocks)->count, 0);
	check_none(blocks, LOW);
	assert_int_equal(blocks_add(blocks, LOW, 8), -EINVAL);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW, 16), -EINVAL);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + 64, 4), -EINVAL);
	assert_int_equal(blocks_add_segment(blocks, LOW, 1ull << 47 | 1, 16), -EINVAL);
	assert_int_equal(blocks_add_segment(blocks, UPPER, UPPER + 4096, 16), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + 4096, 16), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW + 4096, LOW + 8192, 8), 0);
	assert_int_equal(blocks_add_segment(blocks, LOW - 8, LOW + 1, 8), -EEXIST);
	assert_int_equal(blocks_add_segment(blocks, LOW + 8191, LOW + 9000, 8), -EEXIST);
	assert_int_equal(blocks_add_segment(blocks, LOW - 64, UPPER + 64, 8), -EEXIST);
	ranges = blocks_segments(blocks);
	assert_int_equal(ranges->count, 2);
	assert_int_equal(ranges->range[0].low, LOW);
	assert_int_equal(ranges->range[0].high, LOW + 8192);
	blocks_free(blocks);
}

static void test_limits_of_add(void **state)
{
	struct blocks *blocks = fresh();

	(void)state;
	assert_int_equal(blocks_add_segment(blocks, LOW + 8, LOW + 4000, 16), 0);
	assert_int_equal(blocks_add(blocks, LOW, 8), -EINVAL);
	assert_int_equal(blocks_add(blocks, LOW + 24, 8), -EINVAL);
	assert_int_equal(blocks_add(blocks, LOW + 16, 0), -EINVAL);
	assert_int_equal(blocks_add(blocks, LOW + 16, UINT64_MAX), -EINVAL);
	assert_int_equal(blocks_add(blocks, LOW + 16, 4000 - 15), -EINVAL);
	assert_int_equal(blocks_add(blocks, LOW + 16, 4000 - 16), 0);
	assert_int_equal(blocks_add(blocks, LOW + 16, 8), -EEXIST);
	check_find(blocks, LOW + 3999, LOW + 16, 4000 - 16);
	check_none(blocks, LOW + 8);
	check_none(blocks, LOW + 4000);
	assert_int_equal(blocks_remove(blocks, LOW + 32), -ENOENT);
	assert_int_equal(blocks_remove(blocks, LOW + 17), -ENOENT);
	assert_int_equal(blocks_remove(blocks, LOW + 16), 0);
	assert_int_equal(blocks_remove(blocks, LOW + 16), -ENOENT);
	assert_int_equal(blocks_count(blocks), 0);
	assert_int_equal(blocks_bytes(blocks), 0);
	check_none(blocks, LOW + 16);
	blocks_free(blocks);
}

static void test_overlap(void **state)
{
	struct blocks *blocks = fresh();

	(void)state;
	assert_int_equal(blocks_add_segment(blocks, LOW, LOW + 65536, 16), 0);
	assert_int_equal(blocks_add(blocks, LOW, 9000), 0);
	assert_int_equal(blocks_add(blocks, LOW + 4096, 100), 0);
	check_find(blocks, LOW + 4095, LOW, 4096);
	check_find(blocks, LOW + 4195, LOW + 4096, 100);
	check_none(blocks, LOW + 4196);
	assert_int_equal(blocks_bytes(blocks), 4196);
	assert_int_equal(blocks_add(blocks, LOW + 4080, 9000), 0);
	check_find(blocks, LOW + 4081, LOW + 4080, 16);
	check_find(blocks, LOW + 4079, LOW, 4080);
	assert_int_equal(blocks_bytes(blocks), 4196);
	assert_int_equal(blocks_count(blocks), 3);
	blocks_free(blocks);
}

static void test_huge(void **state)
{
	struct blocks *blocks;

	(void)state;
	if (MEMATTACH_SANITIZED)	/* allows no single array of this size */
		skip();
	blocks = fresh();
	assert_int_equal(blocks_add_segment(blocks, UPPER, UPPER + 16 * GIB, 16), 0);
	assert_int_equal(blocks_add(blocks, UPPER + 16, GIB + 8), 0);
	assert_int_equal(blocks_add(blocks, UPPER + 4 * GIB, 12 * GIB), 0);
	check_find(blocks, UPPER + GIB + 23, UPPER + 16, GIB + 8);
	check_none(blocks, UPPER + GIB + 24);
	check_none(blocks, UPPER + 4 * GIB - 1);
	check_find(blocks, UPPER + 16 * GIB - 1, UPPER + 4 * GIB, 12 * GIB);
	assert_int_equal(blocks_add(blocks, UPPER + 9 * GIB, 5), 0);
	check_find(blocks, UPPER + 9 * GIB - 1, UPPER + 4 * GIB, 5 * GIB);
	check_find(blocks, UPPER + 9 * GIB + 4, UPPER + 9 * GIB, 5);
	check_none(blocks, UPPER + 9 * GIB + 5);
	check_none(blocks, UPPER + 16 * GIB - 1);
	/* A sixteenth, an eighth of it spare, and a thirty-second as three tails differ. */
	assert_in_range(blocks_memory(blocks), 1, 16 * GIB / 9);
	blocks_free(blocks);
}

/* ---- random, against an array ---- */

#define CELLS	4096u	/* granules of the model */

struct model {
	struct blocks *blocks;
	uint64_t low, granule;
	uint64_t bytes[CELLS];	/* of the block that starts in the granule; 0: none */
	size_t at;		/* of each_check */
};

static void model_add(struct model *m, uint64_t cell, uint64_t bytes)
{
	uint64_t room = (CELLS - cell) * m->granule;
	int expected = bytes > room ? -EINVAL : m->bytes[cell] ? -EEXIST : 0;

	assert_int_equal(blocks_add(m->blocks, m->low + cell * m->granule, bytes), expected);
	if (expected)
		return;
	m->bytes[cell] = bytes;
	for (uint64_t i = 0; i < cell; i++)
		if (m->bytes[i] > (cell - i) * m->granule)
			m->bytes[i] = (cell - i) * m->granule;
	for (uint64_t i = cell + 1; i < CELLS; i++)
		if (m->bytes[i] && m->bytes[cell] > (i - cell) * m->granule)
			m->bytes[cell] = (i - cell) * m->granule;
}

static void model_remove(struct model *m, uint64_t cell)
{
	assert_int_equal(blocks_remove(m->blocks, m->low + cell * m->granule),
			 m->bytes[cell] ? 0 : -ENOENT);
	m->bytes[cell] = 0;
}

static void model_find(const struct model *m, uint64_t offset)
{
	uint64_t cell = offset / m->granule;

	while (cell > 0 && !m->bytes[cell])
		cell--;
	if (m->bytes[cell] > offset - cell * m->granule)
		check_find(m->blocks, m->low + offset, m->low + cell * m->granule, m->bytes[cell]);
	else
		check_none(m->blocks, m->low + offset);
}

static int each_check(void *context, const struct block *block)
{
	struct model *m = context;

	while (!m->bytes[m->at])
		m->at++;
	assert_int_equal(block->address, m->low + m->at * m->granule);
	assert_int_equal(block->bytes, m->bytes[m->at++]);
	return 0;
}

static void check_model(struct model *m)
{
	uint64_t count = 0, bytes = 0;

	m->at = 0;
	assert_int_equal(blocks_each(m->blocks, each_check, m), 0);
	for (size_t i = 0; i < CELLS; i++) {
		count += m->bytes[i] != 0;
		bytes += m->bytes[i];
		assert_true(i < m->at || !m->bytes[i]);
	}
	assert_int_equal(blocks_count(m->blocks), count);
	assert_int_equal(blocks_bytes(m->blocks), bytes);
	for (unsigned int i = 0; i < 200; i++)
		model_find(m, roll(CELLS * m->granule));
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 200; round++) {
		struct model m = { .blocks = fresh(),
				   .low = roll(2) ? LOW : UPPER,
				   .granule = roll(2) ? 8 : 16 };
		uint64_t longest = 1 + roll(roll(2) ? 100 : 20000), adds = 20 + roll(400);

		assert_int_equal(blocks_add_segment(m.blocks, m.low, m.low + CELLS * m.granule,
						    (unsigned int)m.granule),
				 0);
		for (uint64_t i = 0; i < adds; i++) {
			model_add(&m, roll(CELLS), 1 + roll(longest));
			if (!roll(4))
				model_remove(&m, roll(CELLS));
		}
		check_model(&m);
		blocks_free(m.blocks);
	}
}

/* Segments added in no order, one block at each end of each. */
static void test_many_segments(void **state)
{
	enum { COUNT = 5000 };
	struct blocks *blocks = fresh();

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t low = LOW + i * 1237 % COUNT * 12288;

		assert_int_equal(blocks_add_segment(blocks, low, low + 8192, 16), 0);
		assert_int_equal(blocks_add(blocks, low, 33), 0);
		assert_int_equal(blocks_add(blocks, low + 8192 - 32, 32), 0);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t low = LOW + i * 12288;

		check_find(blocks, low + 32, low, 33);
		check_none(blocks, low + 33);
		check_find(blocks, low + 8191, low + 8160, 32);
		check_none(blocks, low + 8192);
		check_none(blocks, low - 1);
	}
	assert_int_equal(blocks_segments(blocks)->count, COUNT);
	assert_int_equal(blocks_count(blocks), 2 * COUNT);
	blocks_free(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments), cmocka_unit_test(test_limits_of_add),
		cmocka_unit_test(test_overlap),  cmocka_unit_test(test_huge),
		cmocka_unit_test(test_random),   cmocka_unit_test(test_many_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
