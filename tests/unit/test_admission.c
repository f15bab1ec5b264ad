/* SPDX-License-Identifier: MIT */
/* test_admission.c - which of many connections get a place, and that root always finds one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/cleanup.h"
#include "src/daemon/admission.h"

#define PLACES	8u
#define FIRST	100000u		/* uids that are neither root's nor the test's */

static const struct admission_rules rules = { .most_of_user = 2, .reserved = 2 };

struct hall {
	struct admission_place place[PLACES];
	double now;
};

/* The place that a silent connection of uid gets; -EBUSY. */
static int come(struct hall *hall, uid_t uid)
{
	int found = admission_find(hall->place, PLACES, &rules, uid);

	if (found >= 0)
		hall->place[found] = (struct admission_place){
			.taken = true, .silent = true, .uid = uid, .since = hall->now++,
		};
	return found;
}

static size_t places_of_uid(const struct hall *hall, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < PLACES; i++)
		count += hall->place[i].taken && hall->place[i].uid == uid;
	return count;
}

static void limits_each_user(void **state)
{
	struct hall hall = { .now = 1 };

	(void)state;
	assert_true(come(&hall, FIRST) >= 0);
	assert_true(come(&hall, FIRST) >= 0);
	assert_int_equal(come(&hall, FIRST), -EBUSY);
	assert_true(come(&hall, FIRST + 1) >= 0);
	for (unsigned int i = 0; i < PLACES - 3; i++)
		assert_true(come(&hall, 0) >= 0);
}

static void keeps_places_for_root(void **state)
{
	struct hall hall = { .now = 1 };

	(void)state;
	for (unsigned int i = 0; i < 100; i++)
		assert_true(come(&hall, FIRST + i) >= 0);
	assert_true(come(&hall, 0) >= 0);
	assert_true(come(&hall, geteuid()) >= 0);
	assert_int_equal(places_of_uid(&hall, 0), geteuid() == 0 ? 2 : 1);
	/* the newest took an old one's place */
	assert_int_equal(places_of_uid(&hall, FIRST + 99), 1);
	assert_int_equal(places_of_uid(&hall, FIRST), 0);
}

static void takes_only_places_of_the_silent(void **state)
{
	struct hall hall = { .now = 1 };
	int spoken = -1;

	(void)state;
	for (unsigned int i = 0; i < PLACES - rules.reserved; i++) {
		int found = come(&hall, FIRST + i);

		hall.place[found].silent = i == 3;
		spoken = i == 3 ? found : spoken;
	}
	assert_int_equal(come(&hall, FIRST + 50), spoken);
	hall.place[spoken].silent = false;
	assert_int_equal(come(&hall, FIRST + 51), -EBUSY);
	assert_true(come(&hall, 0) >= 0);
}

/* Over TCP nobody is known: no limit of a user, but still one of time. */
static void knows_nobody_over_tcp(void **state)
{
	struct hall hall = { .now = 1 };

	(void)state;
	for (unsigned int i = 0; i < 50; i++)
		assert_true(come(&hall, ADMISSION_UNKNOWN) >= 0);
	assert_int_equal(places_of_uid(&hall, ADMISSION_UNKNOWN), PLACES - rules.reserved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_each_user),
		cmocka_unit_test(keeps_places_for_root),
		cmocka_unit_test(takes_only_places_of_the_silent),
		cmocka_unit_test(knows_nobody_over_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
