/* SPDX-License-Identifier: MIT */
/* test_site_side.c - entries beside sites: they begin zeroed, stay whose they are, and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/live/site_side.h"

#define OWNERS 100u

struct entry {
	uint64_t owner, rest[2];
};

static uint32_t *number_of(void *context, uint32_t i)
{
	return &((uint32_t *)context)[i];
}

static void add(struct site_side *side, uint32_t *number, uint32_t owner)
{
	struct entry *entry;

	assert_int_equal(site_side_add(side, number), 0);
	assert_int_equal(*number, side->count);
	entry = site_side_at(side, *number);
	assert_true(entry->owner == 0 && entry->rest[0] == 0 && entry->rest[1] == 0);
	*entry = (struct entry){ owner + 1, { owner, ~(uint64_t)owner } };
}

static void assert_owned(const struct site_side *side, const uint32_t *number)
{
	for (uint32_t i = 0; i < OWNERS; i++) {
		const struct entry *entry;

		if (number[i] == 0 || number[i] > side->count)
			continue;
		entry = site_side_at(side, number[i]);
		assert_int_equal(entry->owner, i + 1);
		assert_int_equal(entry->rest[1], ~(uint64_t)i);
	}
}

static void test_packed(void **state)
{
	struct site_side side = { .bytes = sizeof(struct entry) };
	uint32_t number[OWNERS] = { 0 };

	(void)state;
	assert_int_equal(site_side_bytes(&side), 0);
	for (uint32_t i = 0; i < OWNERS; i++)
		if (i % 4 != 1)
			add(&side, &number[i], i);
	assert_int_equal(side.count, 75);
	assert_int_equal(site_side_bytes(&side), 128 * sizeof(struct entry));
	assert_owned(&side, number);
	site_side_pack(&side, OWNERS, number_of, number);	/* all are known: nothing changes */
	assert_int_equal(side.count, 75);
	for (uint32_t i = 0; i < OWNERS; i += 2)
		number[i] = 0;
	number[1] = UINT32_MAX;		/* none that there is, and stays what it is */
	site_side_pack(&side, OWNERS, number_of, number);
	assert_int_equal(side.count, 25);
	assert_owned(&side, number);
	assert_int_equal(number[1], UINT32_MAX);
	assert_int_equal(number[5], 0);
	for (uint32_t i = 0; i < OWNERS; i += 2)
		add(&side, &number[i], i);
	assert_int_equal(side.count, 75);
	assert_owned(&side, number);
	for (uint32_t i = 0; i < OWNERS; i++)
		number[i] = 0;
	site_side_pack(&side, OWNERS, number_of, number);
	assert_int_equal(side.count, 0);
	add(&side, &number[7], 7);
	site_side_done(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_packed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
