/* SPDX-License-Identifier: MIT */
/* test_keeper_silence.c - who waits for a processor is not taken for one that hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/keeper/keeper_silence.h"

#define MS 1000000ull

static void parts_of_a_tick(void **state)
{
	(void)state;
	assert_int_equal(keeper_silence_of(400 * MS, 0), SILENCE_TICK);
	assert_int_equal(keeper_silence_of(400 * MS, 200 * MS), SILENCE_TICK / 2);
	/* at least a quarter, also where it waited for longer than since the last look */
	assert_int_equal(keeper_silence_of(400 * MS, 390 * MS), SILENCE_TICK / 4);
	assert_int_equal(keeper_silence_of(400 * MS, 900 * MS), SILENCE_TICK / 4);
	assert_int_equal(keeper_silence_of(0, 0), SILENCE_TICK);
}

static void adds_up_until_heard(void **state)
{
	struct keeper_silence silence = { .total = 0 };

	(void)state;
	for (unsigned int i = 1; i <= 13; i++) {
		keeper_silence_tick(&silence, 0, false);
		assert_int_equal(silence.total, i * SILENCE_TICK);
	}
	keeper_silence_tick(&silence, 0, true);
	assert_int_equal(silence.total, 0);
}

/* One that is stopped waits for no processor: all of it counts. */
static void a_stopped_one_is_silent(void **state)
{
	struct keeper_silence silence = { .total = 0 };
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(keeper_silence_tick(&silence, child, true), SILENCE_TICK);
	for (unsigned int i = 1; i <= 3; i++) {
		(void)usleep(20000);
		keeper_silence_tick(&silence, child, false);
		assert_int_equal(silence.total, i * SILENCE_TICK);
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	/* gone: nothing is known of its waits */
	keeper_silence_tick(&silence, child, false);
	assert_int_equal(silence.total, 4 * SILENCE_TICK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_tick),
		cmocka_unit_test(adds_up_until_heard),
		cmocka_unit_test(a_stopped_one_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
