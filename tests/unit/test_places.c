/* SPDX-License-Identifier: MIT */
/* test_places.c - for whom the places of max-targets are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/daemon/target_quota.h"

#define USER	1000u
#define OTHER	1001u

/* How many begin, one after the other, until there is no place. */
static uint32_t fill(struct places *places, enum places_asker asker, uid_t owner)
{
	uint32_t before = places->taken;

	if (places->owner != owner)
		places->of_owner = 0;
	places->owner = owner;
	while (places_one(places, asker)) {
		places->taken++;
		places->of_owner++;
		places->by_users += asker == PLACES_USER;
	}
	return places->taken - before;
}

static void what_users_have_watched_leaves_places_for_rules(void **state)
{
	struct places places = { .most = 64 };

	(void)state;
	for (uid_t user = USER; user < USER + 8; user++)
		(void)fill(&places, PLACES_USER, user);
	assert_int_equal(places.taken, 16);
	assert_int_equal(fill(&places, PLACES_RULE, 0), 44);
	assert_int_equal(fill(&places, PLACES_USER, OTHER), 0);
	assert_int_equal(fill(&places, PLACES_ROOT, USER), 4);
	assert_int_equal(places.taken, 64);
}

static void processes_of_one_user_leave_places_for_others(void **state)
{
	struct places places = { .most = 64 };

	(void)state;
	assert_int_equal(fill(&places, PLACES_RULE, USER), 56);
	assert_true(places_any(&places, PLACES_RULE));
	assert_int_equal(fill(&places, PLACES_USER, USER), 0);
	assert_int_equal(fill(&places, PLACES_RULE, OTHER), 4);
	assert_false(places_any(&places, PLACES_RULE));
	assert_int_equal(fill(&places, PLACES_ROOT, USER), 4);
}

static void few_places_are_for_all(void **state)
{
	(void)state;
	for (uint32_t most = 1; most < 8; most++) {
		struct places places = { .most = most };

		assert_int_equal(fill(&places, PLACES_USER, USER), 1);
		assert_int_equal(fill(&places, PLACES_RULE, OTHER), most - 1);
		assert_int_equal(fill(&places, PLACES_ROOT, 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_users_have_watched_leaves_places_for_rules),
		cmocka_unit_test(processes_of_one_user_leave_places_for_others),
		cmocka_unit_test(few_places_are_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
