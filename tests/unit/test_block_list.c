/* SPDX-License-Identifier: MIT */
/* test_block_list.c - the largest live blocks, in order, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/live/block_list.h"
#include "tests/unit/sample_session.h"

static void lists_what_lives(void **state)
{
	struct sample sample;
	struct block_list *list;

	(void)state;
	sample_init(&sample, true);
	sample_alloc(&sample, 0x1000, 30, 0, sample.stack[0]);
	sample_alloc(&sample, 0x2000, 70, 0, sample.stack[1]);
	sample_alloc(&sample, 0x3000, 50, 0, sample.stack[0]);
	sample_alloc(&sample, 0x4000, 50, 0, sample.stack[0]);
	sample_free(&sample, 0x1000);
	assert_int_equal(block_list_take(sample.live, &sample.ticks, &list), 0);
	assert_int_equal(list->count, 3);
	assert_int_equal(list->block[0].address, 0x2000);
	assert_int_equal(list->block[0].size, 70);
	assert_int_equal(list->block[0].site, 2);
	assert_int_equal(list->block[0].thread, 1);
	assert_true(list->block[0].weight == 1);
	assert_true(list->block[0].born == 0.002);
	assert_int_equal(list->block[1].address, 0x3000);	/* older than the next */
	assert_int_equal(list->block[2].address, 0x4000);
	block_list_free(list);
	sample_done(&sample);
}

static void keeps_the_largest(void **state)
{
	const uint64_t count = BLOCK_LIST_MAX + 5000;
	struct sample sample;
	struct block_list *list;

	(void)state;
	sample_init(&sample, true);
	for (uint64_t i = 0; i < count; i++)	/* sizes 1 to count, in no order */
		sample_alloc(&sample, 0x100000 + i * 64, 1 + i * 7919 % count, 0, sample.stack[0]);
	assert_int_equal(block_list_take(sample.live, &sample.ticks, &list), 0);
	assert_int_equal(list->count, BLOCK_LIST_MAX);
	for (uint64_t i = 0; i < BLOCK_LIST_MAX; i++)
		assert_int_equal(list->block[i].size, count - i);
	block_list_free(list);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_what_lives),
		cmocka_unit_test(keeps_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
