/* SPDX-License-Identifier: MIT */
/* test_id_places.c - ids keep leading where their things are, and cost little once these went. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "src/base/id_places.h"

static void fill(struct id_places *places, uint32_t first, uint32_t count)
{
	uint32_t id;

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(id_places_add(places, first + i, &id), 0);
		assert_int_equal(id, first + i + 1);
	}
}

static void nothing_went(void **state)
{
	struct id_places places = { .page = NULL };

	(void)state;
	fill(&places, 0, 1000);
	assert_int_equal(id_places_bytes(&places), 0);
	assert_int_equal(id_places_get(&places, 0), ID_PLACES_NONE);
	assert_int_equal(id_places_get(&places, 1), 0);
	assert_int_equal(id_places_get(&places, 1000), 999);
	assert_int_equal(id_places_get(&places, 1001), ID_PLACES_NONE);
	assert_int_equal(id_places_begin(&places), 0);
	for (uint32_t id = 1; id <= 1000; id++)
		assert_int_equal(id_places_get(&places, id), id - 1);
	id_places_done(&places);
}

/* A million come, one of a thousand stays: pages of the others are given back. */
static void most_went(void **state)
{
	struct id_places places = { .page = NULL };
	uint32_t kept = 0;

	(void)state;
	fill(&places, 0, 1000000);
	assert_int_equal(id_places_begin(&places), 0);
	for (uint32_t id = 1; id <= 1000000; id++)
		id_places_set(&places, id, id % 1000 ? ID_PLACES_NONE : kept++);
	assert_true(id_places_bytes(&places) < 1000000 / 2);
	fill(&places, 1000000, 100);	/* places are the test's own */
	for (uint32_t id = 1; id <= 1000000; id++)
		assert_int_equal(id_places_get(&places, id),
				 id % 1000 ? ID_PLACES_NONE : id / 1000 - 1);
	assert_int_equal(id_places_get(&places, 1000100), 1000099);
	id_places_done(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_went),
		cmocka_unit_test(most_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
