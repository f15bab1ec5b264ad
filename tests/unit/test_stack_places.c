/* SPDX-License-Identifier: MIT */
/* test_stack_places.c - when the shim is told anew where stacks lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/watch/stack_places.h"

#define MS 1000000ull

/* Told at a moment, in no time; the counter is the moment. */
static void tell(struct stack_places *p, uint32_t booked, uint64_t now)
{
	stack_places_told(p, booked, now, now, now);
}

static void now_and_then_if_there_was_anything(void **state)
{
	struct stack_places p = { .next_ns = 0 };

	(void)state;
	assert_true(stack_places_due(&p, 1, 1000 * MS));
	tell(&p, 1, 1000 * MS);
	assert_false(stack_places_due(&p, 2, 1199 * MS));
	assert_true(stack_places_due(&p, 2, 1200 * MS));
	assert_false(stack_places_due(&p, 1, 1200 * MS));
	assert_true(stack_places_due(&p, 1, 6000 * MS));
	stack_places_put_off(&p);
	assert_true(stack_places_due(&p, 2, 1001 * MS));
}

/* Of a few events each five seconds, where the kernel can copy them; of many as ever. */
static void seldom_of_a_few(void **state)
{
	struct stack_places p = { .by_kernel = true };

	(void)state;
	assert_true(stack_places_due(&p, 1, 100000 * MS));
	tell(&p, 1, 100000 * MS);
	assert_false(stack_places_due(&p, 2, 104999 * MS));
	assert_true(stack_places_due(&p, 2, 105000 * MS));
	assert_false(stack_places_due(&p, 1, 900000 * MS));
	assert_false(stack_places_due(&p, 65, 101000 * MS));
	assert_true(stack_places_due(&p, 66, 101000 * MS));
	assert_false(stack_places_due(&p, 66, 100100 * MS));
	stack_places_missed(&p, 100001 * MS);
	assert_true(stack_places_due(&p, 2, 100002 * MS));
}

static void a_missing_end_does_not_wait(void **state)
{
	struct stack_places p = { .next_ns = 0 };

	(void)state;
	tell(&p, 1, 1000 * MS);
	stack_places_missed(&p, 1000 * MS);	/* had waited in the ring */
	assert_false(stack_places_due(&p, 2, 1150 * MS));
	stack_places_missed(&p, 1000 * MS + 1);
	assert_false(stack_places_due(&p, 2, 1000 * MS + 1));
	assert_true(stack_places_due(&p, 2, 1001 * MS));
	tell(&p, 2, 1001 * MS);
	assert_false(stack_places_due(&p, 3, 1150 * MS));
}

/* How often it is told in so many ms to one whose stacks never have an end. */
static unsigned int times_told(struct stack_places *p, uint64_t from_ms, unsigned int ms)
{
	unsigned int times = 0;

	for (uint64_t now = from_ms * MS; now < (from_ms + ms) * MS; now += MS / 4) {
		stack_places_missed(p, now);
		if (stack_places_due(p, (uint32_t)(now / MS), now)) {
			tell(p, (uint32_t)(now / MS), now);
			times++;
		}
	}
	return times;
}

static void who_never_has_an_end_is_given_up(void **state)
{
	struct stack_places p = { .next_ns = 0 };

	(void)state;
	tell(&p, 0, 1000 * MS);
	assert_in_range(times_told(&p, 1001, 400), 7, 10);	/* 1, 2, 4 ... 128, 200 ms apart */
	assert_in_range(times_told(&p, 1401, 2000), 9, 11);	/* no more than without */
	/* Once it is over for a while, the next one is helped at once. */
	tell(&p, 1, 3700 * MS);
	tell(&p, 2, 3900 * MS);
	stack_places_missed(&p, 3950 * MS);
	assert_true(stack_places_due(&p, 3, 3950 * MS));
}

/* Who reads the maps of thousands for 2 ms does so a twentieth of the time at the most. */
static void what_is_dear_is_seldom(void **state)
{
	struct stack_places p = { .next_ns = 0 };

	(void)state;
	stack_places_told(&p, 1, 998 * MS, 998 * MS, 1000 * MS);
	stack_places_missed(&p, 999 * MS);
	assert_false(stack_places_due(&p, 2, 1039 * MS));
	assert_true(stack_places_due(&p, 2, 1040 * MS));
	p.missed = false;
	assert_false(stack_places_due(&p, 2, 2999 * MS));
	assert_true(stack_places_due(&p, 2, 3000 * MS));
	stack_places_told(&p, 1, 1 * MS, 1 * MS, 1000 * MS);
	assert_false(stack_places_due(&p, 2, 5999 * MS));	/* never more than five seconds */
	assert_true(stack_places_due(&p, 2, 6000 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(now_and_then_if_there_was_anything),
		cmocka_unit_test(seldom_of_a_few),
		cmocka_unit_test(a_missing_end_does_not_wait),
		cmocka_unit_test(who_never_has_an_end_is_given_up),
		cmocka_unit_test(what_is_dear_is_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
