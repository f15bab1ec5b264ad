/* SPDX-License-Identifier: MIT */
/*
 * test_leak_suspect.c - the one judge of suspects: with trends of every shape, and with what an
 * earlier session saw, whose figures may be forged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "src/leak/candidates/suspect.h"

#define HZ	1000.0
#define LOOKS	120u

/* --- trends ---------------------------------------------------------------------- */

static enum trend_verdict trend_of(double (*level)(double share), unsigned int looks)
{
	struct trend trend;

	trend_init(&trend, looks);
	for (unsigned int i = 1; i <= looks; i++)
		trend_add(&trend, i, level((double)i / looks));
	return trend_judge(&trend, looks);
}

static double noise(void)
{
	return rand() / (double)RAND_MAX - 0.5;
}

static double steady(double share) { return 1000 * share; }
static double noisy(double share) { return 1000 + 1000 * share + 60 * noise(); }
static double late_start(double share) { return share > 0.6 ? share - 0.6 : 0; }
static double stopped(double share) { return share < 0.55 ? share : 0.55; }
static double stopped_just_now(double share) { return share < 0.8 ? share : 0.8; }
static double filling(double share) { return 1 - exp(-8 * share); }
static double sawtooth(double share) { return 100 + fmod(share * 1000, 70); }
static double constant(double share) { return share < 2 ? 5 : 0; }
static double shrinking(double share) { return 1000 - 900 * share; }
static double slowly(double share) { return 100000 + 1000 * share; }
static double stationary(double share) { return 1000 + 200 * noise() + 0 * share; }

static void only_what_still_rises_is_rising(void **state)
{
	unsigned int wrong = 0;

	(void)state;
	srand(1);
	assert_int_equal(trend_of(steady, LOOKS), TREND_RISING);
	assert_int_equal(trend_of(steady, 8), TREND_RISING);
	assert_int_equal(trend_of(steady, 7), TREND_UNKNOWN);
	assert_int_equal(trend_of(noisy, LOOKS), TREND_RISING);
	assert_int_equal(trend_of(late_start, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(stopped, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(stopped_just_now, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(filling, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(sawtooth, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(constant, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(shrinking, LOOKS), TREND_FLAT);
	assert_int_equal(trend_of(slowly, LOOKS), TREND_FLAT);
	for (int round = 0; round < 200; round++)
		wrong += trend_of(stationary, LOOKS) == TREND_RISING;
	print_message("stationary noise called rising: %u of 200\n", wrong);
	assert_in_range(wrong, 0, 20);
}

/* Levels are carried on to where nobody looked. */
static void rare_looks_are_enough(void **state)
{
	struct trend trend;

	(void)state;
	trend_init(&trend, 100);
	for (unsigned int i = 0; i < 7; i++)
		trend_add(&trend, 99.0 * i / 7, i * 10);
	trend_add(&trend, 99, 70);
	assert_int_equal(trend_judge(&trend, 100), TREND_RISING);
	/* the same until the half, and then nothing any more */
	trend_init(&trend, 200);
	for (unsigned int i = 0; i < 8; i++)
		trend_add(&trend, 99.0 * i / 7, i * 10);
	assert_int_equal(trend_judge(&trend, 100), TREND_FLAT);
}

static void forged_times_do_no_harm(void **state)
{
	static const double times[] = { 1e300, -5, NAN, INFINITY, -INFINITY, 3, 1e-300 };
	struct trend trend;

	(void)state;
	for (size_t end = 0; end < ARRAY_SIZE(times); end++) {
		trend_init(&trend, times[end]);
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			trend_add(&trend, times[i], times[ARRAY_SIZE(times) - 1 - i]);
		assert_int_not_equal(trend_judge(&trend, 100), TREND_RISING);
	}
}

/* --- suspects -------------------------------------------------------------------- */

static struct survival_window seconds_watched(double seconds)
{
	return (struct survival_window){ .begin = 500, .now = 500 + (uint64_t)(seconds * HZ),
					 .hz = HZ };
}

/* A session of seconds in which blocks were born evenly until `until`, and live. */
static struct site_life life_of(double seconds, double until, unsigned int each)
{
	struct site_life life = { .site = 1, .seconds = seconds, .oldest = 0 };

	for (unsigned int i = 0; i < SITE_LIVES_PARTS * until / seconds; i++)
		life.born[i] = each;
	return life;
}

/* A watch of seconds with 40 blocks born evenly, the longest of those freed lived for longest. */
static struct suspect_finding judge(double seconds, double longest, bool grew,
				    enum trend_verdict trend, const struct suspect_past *past)
{
	struct survival_window window = seconds_watched(seconds);
	struct lifetimes deaths = { 0 };
	struct suspect_finding finding;
	struct suspect suspect;

	if (longest > 0)
		lifetimes_add(&deaths, (uint64_t)(longest * HZ), 1);
	suspect_begin(&suspect, &window, &deaths, past);
	for (int i = 0; i < 40; i++)
		suspect_add(&suspect, 500 + (uint64_t)(seconds * HZ * i / 40), 1, 1);
	finding = suspect_end(&suspect, grew, trend);
	lifetimes_done(&deaths);
	return finding;
}

static void a_watch_alone_is_judged_as_ever(void **state)
{
	struct suspect_finding finding = judge(100, 1, false, TREND_UNKNOWN, NULL);

	(void)state;
	assert_int_equal(finding.verdict, SURVIVAL_STUCK);
	assert_false(finding.by_past);
	finding = judge(100, 27, false, TREND_UNKNOWN, NULL);
	assert_int_equal(finding.verdict, SURVIVAL_EARLY);
	assert_true(fabs(finding.needs - 27 * 3 / 0.8) < 0.01);
	assert_true(fabs(finding.longest - 27) < 0.01);
	finding = judge(10, 0, false, TREND_UNKNOWN, NULL);
	assert_int_equal(finding.verdict, SURVIVAL_EARLY);
	assert_true(fabs(finding.needs - 750) < 0.01 && finding.longest == 0);
	assert_int_equal(judge(10, 0, true, TREND_UNKNOWN, NULL).verdict, SURVIVAL_GROWING);
	assert_int_equal(judge(10, 0, true, TREND_RISING, NULL).verdict, SURVIVAL_GROWING);
	assert_int_equal(judge(10, 0, true, TREND_FLAT, NULL).verdict, SURVIVAL_EARLY);
	assert_int_equal(suspect_verdict(SURVIVAL_EARLY), LEAK_REACHABLE);
	assert_int_equal(suspect_verdict(SURVIVAL_STUCK), LEAK_STUCK);
}

/* Ten seconds on top of an hour in which the site kept everything. */
static void an_hour_before_tells_what_ten_seconds_cannot(void **state)
{
	struct site_life leak = life_of(3600, 3600, 1), table = life_of(3600, 300, 1);
	struct suspect_past past = { .seconds = 3600, .life = &leak };
	struct suspect_finding finding = judge(10, 0, false, TREND_UNKNOWN, &past);

	(void)state;
	assert_int_equal(finding.verdict, SURVIVAL_STUCK);
	assert_true(finding.by_past);
	/* requests of 0.1 s among it change nothing, */
	finding = judge(10, 0.1, false, TREND_UNKNOWN, &past);
	assert_int_equal(finding.verdict, SURVIVAL_STUCK);
	/* a table that was filled at the start is old, */
	past.life = &table;
	assert_int_equal(judge(10, 0, false, TREND_UNKNOWN, &past).verdict, SURVIVAL_OLD);
	/* and where the earlier session saw blocks live for long, it is too early again. */
	lifetimes_add(&leak.freed, (uint64_t)(1000 * 1e9), 1);
	past.life = &leak;
	finding = judge(10, 0.1, false, TREND_UNKNOWN, &past);
	assert_int_equal(finding.verdict, SURVIVAL_EARLY);
	assert_true(fabs(finding.longest - 1000) < 1);
	lifetimes_done(&leak.freed);
	/* A site that the earlier session never saw gains nothing by it. */
	past.life = NULL;
	assert_false(judge(10, 0, false, TREND_UNKNOWN, &past).by_past);
}

/* A cache of blocks that live for a minute replaces what 10 s did not see it allocate. */
static void a_short_watch_cannot_see_growth(void **state)
{
	struct site_life cache = life_of(3600, 0, 0);
	struct suspect_past past = { .seconds = 3600, .life = &cache };
	struct suspect_finding finding;

	(void)state;
	for (unsigned int i = 126; i < SITE_LIVES_PARTS; i++)
		cache.born[i] = 100;
	lifetimes_add(&cache.freed, (uint64_t)(60 * 1e9), 1);
	assert_int_equal(judge(10, 4, true, TREND_UNKNOWN, NULL).verdict, SURVIVAL_GROWING);
	assert_int_equal(judge(10, 4, true, TREND_UNKNOWN, &past).verdict, SURVIVAL_NOTHING);
	past.growing = true;
	finding = judge(10, 4, false, TREND_UNKNOWN, &past);
	assert_int_equal(finding.verdict, SURVIVAL_GROWING);
	assert_true(finding.by_past);
	/* Long enough to see for itself. */
	finding = judge(130, 2, false, TREND_UNKNOWN, &past);
	assert_int_not_equal(finding.verdict, SURVIVAL_GROWING);
	lifetimes_done(&cache.freed);
}

static void a_forged_past_does_no_harm(void **state)
{
	static const double odd[] = { 0, -1, 1e300, NAN, INFINITY, 1e10 };
	struct site_life life = life_of(3600, 3600, UINT32_MAX);
	struct suspect_past past = { .life = &life };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		for (size_t n = 0; n < ARRAY_SIZE(odd); n++) {
			past.seconds = odd[i];
			life.seconds = odd[n];
			life.freed.max = UINT64_MAX;
			(void)judge(10, 0, true, TREND_UNKNOWN, &past);
			life.freed.max = 0;
			(void)judge(10, 0.5, false, TREND_RISING, &past);
		}
	}
}

/* The same blocks in one window, or cut in two sessions of half the time: stuck both times. */
static void quarters_run_through_both_sessions(void **state)
{
	struct site_life half = life_of(1000, 1000, 1);
	struct suspect_past past = { .seconds = 1000, .life = &half };
	struct survival_window window = seconds_watched(1000);
	struct lifetimes deaths = { 0 };
	struct suspect suspect;

	(void)state;
	lifetimes_add(&deaths, (uint64_t)HZ, 1);
	suspect_begin(&suspect, &window, &deaths, &past);
	for (int i = 0; i < 128; i++)
		suspect_add(&suspect, 500 + (uint64_t)(1000 * HZ * i / 128), 1, 1);
	for (int i = 0; i < 4; i++)
		assert_in_range(suspect.survival.quarter[i], 58, 62);
	assert_in_range(suspect.survival.old_count, 2 * 119, 2 * 121);
	assert_int_equal(suspect_end(&suspect, false, TREND_UNKNOWN).verdict, SURVIVAL_STUCK);
	lifetimes_done(&deaths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_still_rises_is_rising),
		cmocka_unit_test(rare_looks_are_enough),
		cmocka_unit_test(forged_times_do_no_harm),
		cmocka_unit_test(a_watch_alone_is_judged_as_ever),
		cmocka_unit_test(an_hour_before_tells_what_ten_seconds_cannot),
		cmocka_unit_test(a_short_watch_cannot_see_growth),
		cmocka_unit_test(a_forged_past_does_no_harm),
		cmocka_unit_test(quarters_run_through_both_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
