/* SPDX-License-Identifier: MIT */
/* test_pauses.c - how long a session sleeps: for whom, and after what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/session/pauses.h"

#define MS 1000000ull

/* What the pauses grow to, when so many events come between two drains of a ring so full. */
static uint64_t settled(const struct session_options *options, int events, double filled)
{
	struct session session = { .options = options, .view.hello.may_wait = 1 };
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
	static struct session session;

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
	const struct session session = { .options = &daemon };

	(void)state;
	assert_int_equal(session_pause(&session, 8000 * MS, 0, 0), 500 * MS);
}

/* After an idle hour a burst is followed from its first half-full ring on. */
static void test_rings_fill(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	const struct session session = { .options = &daemon, .view.hello.may_wait = 1 };

	(void)state;
	assert_int_equal(session_pause(&session, 8000 * MS, 1000, 0.5), 0);
	assert_int_equal(session_pause(&session, 8000 * MS, 400, 0.3), 4000 * MS);
	assert_int_equal(session_pause(&session, 2000 * MS, 100, 0.2), 2000 * MS);
	assert_int_equal(session_pause(&session, 2000 * MS, 1000, 0.2), 1000 * MS);
	assert_int_equal(session_pause(&session, 2000 * MS, 100, 0.1), 2501 * MS);
	assert_int_equal(session_pause(&session, 8000 * MS, 700, 0.01), 100 * MS);
	assert_int_equal(session_pause(&session, 8000 * MS, 500, 0.01), 8000 * MS);
	assert_int_equal(session_pause(&session, 100 * MS, 500, 0.01), 100 * MS);
}

/* What was heard on the way to bed: the reader, which there is none of, is not asked to wait. */
static void test_who_is_told_does_not_sleep(void **state)
{
	const struct session_options daemon = { .mode = SNAPSHOT_SAMPLED, .screen = true,
						.screen_can_wait = true };
	static struct session session;

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
		cmocka_unit_test(test_who_is_told_does_not_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
