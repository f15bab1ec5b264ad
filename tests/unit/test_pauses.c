/* SPDX-License-Identifier: MIT */
/* test_pauses.c - how long a session sleeps: for whom, and after what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/session/pauses.h"

#define MS 1000000ull

static struct ring_control control;	/* of a target that has not confined itself */
#define WATCH_OF(session) .watch = { .view = &(session).view, .control = &control }

/* What the pauses grow to, when so many events come between two drains of a ring so full. */
static uint64_t settled(const struct session_options *options, int events, double filled)
{
	struct session session = { .options = options, .view.hello.may_wait = 1,
				   WATCH_OF(session) };
	uint64_t pause = 0;

	for (int i = 0; i < 200; i++) {
		uint64_t next = session_pause(&session, pause, events, filled);

		if (filled == 0)
			assert_true(next >= pause);
		pause = next;
	}
	return pause;
}

static void test_nobody_waits(void **state)
{
	const struct session_options sampled = { .mode = SNAPSHOT_SAMPLED };
	const struct session_options exact = { .mode = SNAPSHOT_EXACT };
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };

	(void)state;
	assert_int_equal(settled(&sampled, 0, 0), 500 * MS);
	assert_int_equal(settled(&sampled, 7, 0), 250 * MS);
	assert_int_equal(settled(&sampled, 63, 0), 250 * MS);
	assert_int_equal(settled(&sampled, 64, 0), 100 * MS);
	assert_int_equal(settled(&exact, 0, 0), 500 * MS);
	assert_int_equal(settled(&exact, 7, 0), 20 * MS);
	assert_int_equal(settled(&daemon, 0, 0), 8000 * MS);
	assert_int_equal(settled(&daemon, 7, 0), 8000 * MS);
	assert_int_equal(settled(&daemon, 63, 0), 8000 * MS);
	assert_int_equal(settled(&daemon, 700, 0), 100 * MS);
}

static void test_somebody_looks(void **state)
{
	const struct session_options screen = { .mode = SNAPSHOT_SAMPLED, .screen = true };

	(void)state;
	assert_int_equal(settled(&screen, 0, 0), 20 * MS);
	assert_int_equal(settled(&screen, 7, 0), 20 * MS);
}

/* Names that somebody waits for are found in turns, and those have to come. */
static void test_names_are_wanted(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	static struct session session = { WATCH_OF(session) };

	(void)state;
	session.options = &daemon;
	session.view.hello.may_wait = 1;
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 8000 * MS);
	session.report.recording = (struct recording *)&session;	/* only that there is one */
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 8000 * MS);
	session_report_names_want(&session.report);
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 100 * MS);
	session.report.naming.until = session_now() - 1;	/* two minutes later */
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 8000 * MS);
	session_report_names_want(&session.report);
	session.report.recording_failed = true;
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 8000 * MS);
}

/* The target's filter forbids futex: it can't wake who sleeps. */
static void test_target_can_not_wake_us(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	struct session session = { .options = &daemon, WATCH_OF(session) };

	(void)state;
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 500 * MS);
}

/* The target wakes whom it has filled half a ring: until then nobody need be awake. */
static void test_rings_fill(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	struct session session = { .options = &daemon, .view.hello.may_wait = 1,
				   WATCH_OF(session) };

	(void)state;
	assert_int_equal(session_pause(&session, 8000 * MS, 1000, 0.5), 4000 * MS);
	assert_int_equal(session_pause(&session, 8000 * MS, 400, 0.3), 8000 * MS);
	assert_int_equal(session_pause(&session, 2000 * MS, 100, 0.2), 2501 * MS);
	assert_int_equal(session_pause(&session, 2000 * MS, 1000, 0.2), 100 * MS);
	assert_int_equal(session_pause(&session, 8000 * MS, 700, 0.01), 100 * MS);
	assert_int_equal(session_pause(&session, 8000 * MS, 500, 0.01), 8000 * MS);
	assert_int_equal(session_pause(&session, 100 * MS, 500, 0.01), 100 * MS);
	assert_int_equal(session_pause(&session, 1, 1000, 0.5), 0);
}

/* A second of a program that fills a ring in so many pauses of a millisecond. */
static unsigned int awakenings(enum snapshot_mode mode, bool may_wait, double milliseconds)
{
	const struct session_options options = { .mode = mode };
	struct session session = { .options = &options, .view.hello.may_wait = may_wait,
				   WATCH_OF(session) };
	uint64_t pause = 0, now = 0;
	unsigned int count = 0;

	while (now < 1000 * MS) {
		double slept = (double)pause / MS, half = milliseconds / 2, filled;

		if (may_wait && slept > half)	/* and is woken */
			slept = half;
		filled = slept / milliseconds;
		assert_true(filled <= 1.0);
		now += (uint64_t)(slept * MS) + MS / 10;
		count += now > 200 * MS;	/* settled by then */
		pause = session_pause(&session, pause, 1000, filled);
	}
	return count;
}

/* Of samples, which are seldom, a few awakenings a second; where nobody wakes us more of them. */
static void test_awakenings(void **state)
{
	(void)state;
	assert_in_range(awakenings(SNAPSHOT_SAMPLED, true, 1000), 6, 10);
	assert_in_range(awakenings(SNAPSHOT_ADAPTIVE, true, 100), 16, 40);
	assert_in_range(awakenings(SNAPSHOT_SAMPLED, true, 30), 50, 110);
	assert_in_range(awakenings(SNAPSHOT_SAMPLED, false, 30), 300, 1000);
	assert_in_range(awakenings(SNAPSHOT_EXACT, true, 30), 300, 1000);
}

/* What was heard on the way to bed: the reader, which there is none of, is not asked to wait. */
static void test_who_is_told_does_not_sleep(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	static struct session session = { WATCH_OF(session) };

	(void)state;
	session.options = &daemon;
	session.link.stop_wanted = true;
	session_wait(&session, 8000 * MS, session_now() + 60);
	session.link.stop_wanted = false;
	session.link.target_gone = true;
	session_wait(&session, 8000 * MS, session_now() + 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_somebody_looks),
		cmocka_unit_test(test_names_are_wanted),
		cmocka_unit_test(test_target_can_not_wake_us),
		cmocka_unit_test(test_rings_fill),
		cmocka_unit_test(test_awakenings),
		cmocka_unit_test(test_who_is_told_does_not_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
