/* SPDX-License-Identifier: MIT */
/*
 * test_leak_survival.c - verdicts over simulated sites of a server: seven healthy kinds and four
 * that leak, watched from attach on; and the survival curve against known distributions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/cleanup.h"
#include "src/leak/candidates/suspect.h"

#define HZ		1000.0
#define WATCHED		(6 * 3600.0)
#define ROUNDS		6
#define EVENTS_MAX	200000

struct span {
	double born, died;	/* seconds; died INFINITY: never */
};
static struct span events[EVENTS_MAX];
static size_t event_count;

/* --- random numbers ----------------------------------------------------------- */

static double uniform(void)
{
	return (rand() + 0.5) / (RAND_MAX + 1.0);
}

static double exponential(double mean)
{
	return -mean * log(uniform());
}

static double lognormal(double mu, double sigma)
{
	return exp(mu + sigma * sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()));
}

/* --- kinds of sites ------------------------------------------------------------- */

static double request(void) { return lognormal(-2, 1.5); }
static double session(void) { return exponential(600); }
static double keepalive(void) { return exponential(5400); }
static double cache_1h(void) { return 3600; }
static double cache_12h(void) { return 12 * 3600; }
static double for_ever(void) { return INFINITY; }
static double leak_1_percent(void) { return uniform() < 0.01 ? INFINITY : request(); }
static double leak_1_permille(void) { return uniform() < 0.001 ? INFINITY : request(); }
static double leak_5_percent(void) { return uniform() < 0.05 ? INFINITY : session(); }

static const struct kind {
	const char *name;
	double rate;
	double (*lifetime)(void);
	bool leaks;
	double until;		/* births end then; 0: never */
	double bound;		/* an LRU cache that is full after this share of the time */
} kinds[] = {
	{ "request", 2.0, request, false, 0, 0 },
	{ "session", 0.3, session, false, 0, 0 },
	{ "keepalive", 0.1, keepalive, false, 0, 0 },
	{ "cache_1h", 0.3, cache_1h, false, 0, 0 },
	{ "cache_12h", 0.3, cache_12h, false, 0, 0 },
	{ "lru", 0.5, for_ever, false, 0, 0.35 },
	{ "startup", 3.0, for_ever, false, 60, 0 },
	{ "leak", 0.05, for_ever, true, 0, 0 },
	{ "leak_1_percent", 2.0, leak_1_percent, true, 0, 0 },
	{ "leak_1_permille", 5.0, leak_1_permille, true, 0, 0 },
	{ "leak_5_percent", 0.3, leak_5_percent, true, 0, 0 },
};
#define KINDS ARRAY_SIZE(kinds)

static void simulate(const struct kind *kind)
{
	double end = kind->until > 0 ? kind->until : WATCHED, t = 0;
	size_t room = (size_t)(kind->rate * WATCHED * kind->bound);

	for (event_count = 0; (t += exponential(1 / kind->rate)) < end;) {
		/* Day and night, four times as fast. */
		if (uniform() > (1 + 0.5 * sin(2 * M_PI * t / 86400 * 4)) / 1.5)
			continue;
		assert_true(event_count < EVENTS_MAX);
		events[event_count++] = (struct span){ t, t + kind->lifetime() };
	}
	for (size_t i = 0; room > 0 && i + room < event_count; i++)
		events[i].died = events[i + room].born;
}

/* What memattach, watching from 0 to now with this chance to see a block, says. */
static enum survival_verdict judge(double now, double chance)
{
	struct survival_window window = { .now = (uint64_t)(now * HZ), .hz = HZ,
					  .rule = survival_default_rule(now) };
	struct lifetimes deaths = { 0 };
	struct survival survival;
	enum survival_verdict verdict;

	for (size_t i = 0; i < event_count; i++) {
		if (events[i].born <= now && (chance >= 1 || uniform() < chance)) {
			if (events[i].died <= now)
				lifetimes_add(&deaths,
					      (uint64_t)((events[i].died - events[i].born) * HZ),
					      1 / chance);
		} else {
			events[i].born = INFINITY;
		}
	}
	survival_init(&survival, &window, &deaths);
	for (size_t i = 0; i < event_count; i++) {
		if (events[i].born <= now && events[i].died > now)
			survival_add_live(&survival, (uint64_t)(events[i].born * HZ), 1 / chance);
	}
	verdict = survival_judge(&survival, false);
	survival_done(&survival);
	lifetimes_done(&deaths);
	return verdict;
}

struct rates {
	double recall, false_flags;
	unsigned int stuck[KINDS], early[KINDS], old[KINDS];
};

static struct rates measure(double now, double chance)
{
	struct rates rates = { 0 };
	unsigned int leaks = 0, found = 0, healthy = 0, wrong = 0;

	srand(7);
	for (size_t k = 0; k < KINDS; k++) {
		for (int round = 0; round < ROUNDS; round++) {
			enum survival_verdict verdict;

			simulate(&kinds[k]);
			verdict = judge(now, chance);
			rates.stuck[k] += verdict == SURVIVAL_STUCK;
			rates.early[k] += verdict == SURVIVAL_EARLY;
			rates.old[k] += verdict == SURVIVAL_OLD;
		}
		*(kinds[k].leaks ? &leaks : &healthy) += ROUNDS;
		*(kinds[k].leaks ? &found : &wrong) += rates.stuck[k];
	}
	rates.recall = (double)found / leaks;
	rates.false_flags = (double)wrong / healthy;
	print_message("%5.1f h, chance %.1f: recall %.0f %%, false flags %.0f %%\n", now / 3600,
		      chance, 100 * rates.recall, 100 * rates.false_flags);
	return rates;
}

static size_t kind_of(const char *name)
{
	size_t k = 0;

	while (strcmp(kinds[k].name, name) != 0)
		k++;
	return k;
}

/* Of the healthy kinds only the cache that outlives the window may be called stuck. */
static void leaks_are_told_from_caches(void **state)
{
	struct rates rates = measure(WATCHED, 1);

	(void)state;
	assert_true(rates.recall >= 0.8);
	assert_true(rates.false_flags <= 0.15);
	for (size_t k = 0; k < KINDS; k++) {
		if (!kinds[k].leaks && k != kind_of("cache_12h"))
			assert_int_equal(rates.stuck[k], 0);
	}
	assert_int_equal(rates.stuck[kind_of("leak")], ROUNDS);
	assert_int_equal(rates.stuck[kind_of("leak_1_percent")], ROUNDS);
	assert_int_equal(rates.old[kind_of("startup")], ROUNDS);
}

static void less_time_means_more_caution(void **state)
{
	struct rates after_2h = measure(7200, 1), after_30m = measure(1800, 1);

	(void)state;
	assert_true(after_2h.recall >= 0.65 && after_2h.false_flags <= 0.3);
	assert_true(after_30m.recall >= 0.5 && after_30m.false_flags <= 0.45);
	assert_int_equal(after_30m.stuck[kind_of("session")], 0);
	assert_true(after_30m.early[kind_of("session")] >= ROUNDS - 1);
	assert_true(after_30m.early[kind_of("keepalive")] >= ROUNDS - 1);
	assert_int_equal(after_30m.stuck[kind_of("request")], 0);
}

/* A leak of requests shows within minutes, and a session's length within minutes is unknown. */
static void minutes_are_enough_for_short_blocks(void **state)
{
	static const struct kind fast = { "fast", 50, leak_1_percent, true, 0, 0 };

	(void)state;
	srand(3);
	simulate(&(struct kind){ "fast", 5, leak_1_percent, true, 1000, 0 });
	assert_int_equal(judge(900, 1), SURVIVAL_STUCK);
	simulate(&(struct kind){ fast.name, fast.rate, cache_1h, false, 200, 0 });
	assert_int_equal(judge(120, 1), SURVIVAL_EARLY);
}

static void samples_do_nearly_as_well(void **state)
{
	struct rates rates = measure(WATCHED, 0.3);

	(void)state;
	assert_true(rates.recall >= 0.5);
	assert_true(rates.false_flags <= 0.2);
	assert_int_equal(rates.stuck[kind_of("leak")], ROUNDS);
}

static void growth_is_said_when_nothing_is_stuck(void **state)
{
	struct survival_window window = { .now = 10000000, .hz = HZ,
					  .rule = survival_default_rule(10000) };
	struct lifetimes deaths = { 0 };
	struct survival survival;

	(void)state;
	survival_init(&survival, &window, &deaths);
	assert_int_equal(survival_judge(&survival, false), SURVIVAL_NOTHING);
	assert_int_equal(survival_judge(&survival, true), SURVIVAL_GROWING);
	for (unsigned int i = 0; i < 4; i++)
		survival_add_live(&survival, i * 2400000, 1);
	assert_int_equal(survival_judge(&survival, false), SURVIVAL_NOTHING);
	survival_add_live(&survival, 100, 1);
	assert_int_equal(survival_judge(&survival, true), SURVIVAL_STUCK);
	assert_int_equal(survival.old_count, 5);
	survival_add_live(&survival, 20000000, 1);	/* after now: ignored */
	assert_int_equal(survival.old_count, 5);
	assert_string_equal(survival_verdict_name(SURVIVAL_EARLY), "too early");
	survival_done(&survival);
}

/* 40 blocks born evenly in [0, until) that live, in 100 s; the longest freed lived for longest. */
static enum survival_verdict judge_even(double until, double longest)
{
	struct survival_window window = { .now = (uint64_t)(100 * HZ), .hz = HZ,
					  .rule = survival_default_rule(100) };
	struct lifetimes deaths = { 0 };
	struct survival survival;
	enum survival_verdict verdict;

	lifetimes_add(&deaths, (uint64_t)(longest * HZ), 1);
	survival_init(&survival, &window, &deaths);
	for (int i = 0; i < 40; i++)
		survival_add_live(&survival, (uint64_t)(until * HZ * i / 40), 1);
	verdict = survival_judge(&survival, false);
	survival_done(&survival);
	lifetimes_done(&deaths);
	return verdict;
}

static void the_plateau_has_bounds(void **state)
{
	(void)state;
	assert_int_equal(judge_even(100, 1), SURVIVAL_STUCK);
	assert_int_equal(judge_even(100, 20), SURVIVAL_STUCK);
	assert_int_equal(judge_even(30, 1), SURVIVAL_OLD);
	/* 3 times 26 s leaves 22 s, more than a fifth; 3 times 27 s does not. */
	assert_int_equal(judge_even(100, 26), SURVIVAL_STUCK);
	assert_int_equal(judge_even(100, 27), SURVIVAL_EARLY);
	/* The floor is 10 s here: no verdict on what is younger, but on a bit older. */
	assert_int_equal(judge_even(88, 0.001), SURVIVAL_STUCK);
	assert_int_equal(judge_even(60, 0.001), SURVIVAL_OLD);
}

/* --- growth ----------------------------------------------------------------------- */

#define LOOKS 240u

/* How many live at each of LOOKS snapshots, up to now. */
static void count_levels(double now, double level[LOOKS])
{
	memset(level, 0, LOOKS * sizeof(*level));
	for (size_t i = 0; i < event_count; i++) {
		double born = ceil(events[i].born / now * LOOKS);
		double died = ceil(events[i].died / now * LOOKS);

		if (born < LOOKS)
			level[(size_t)born] += 1;
		if (died < LOOKS)
			level[(size_t)died] -= 1;
	}
	for (size_t i = 1; i < LOOKS; i++)
		level[i] += level[i - 1];
}

/* Does a recording of so long call the site growing, by all that it has? by_trend: or without. */
static bool is_called_growing(double now, bool by_trend)
{
	struct survival_window window = { .now = (uint64_t)(now * HZ), .hz = HZ };
	struct lifetimes deaths = { 0 };
	struct suspect suspect;
	struct trend trend;
	double level[LOOKS];
	bool grew;

	count_levels(now, level);
	trend_init(&trend, now);
	for (size_t i = 0; i < LOOKS; i++)
		trend_add(&trend, now * (double)(i + 1) / LOOKS, level[i]);
	grew = level[LOOKS - 1] - level[LOOKS * 2 / 5] > 0.05 * level[LOOKS - 1];
	suspect_begin(&suspect, &window, &deaths, NULL);
	for (size_t i = 0; i < event_count; i++)
		if (events[i].born <= now && events[i].died > now)
			suspect_add(&suspect, (uint64_t)(events[i].born * HZ), 1, 1);
	lifetimes_done(&deaths);
	return suspect_end(&suspect, grew, by_trend ? trend_judge(&trend, LOOKS) :
						      TREND_UNKNOWN).growing;
}

/* What still fills grows, that is no mistake; what is full or has found its level does not. */
static void growth_is_what_still_rises(void **state)
{
	static const double hours[] = { 0.5, 2, 6 };

	(void)state;
	srand(11);
	for (size_t h = 0; h < ARRAY_SIZE(hours); h++) {
		unsigned int called[KINDS] = { 0 }, without[KINDS] = { 0 };
		unsigned int healthy = 0, loose = 0, leaks = 0;

		for (size_t k = 0; k < KINDS; k++) {
			for (int round = 0; round < ROUNDS; round++) {
				simulate(&kinds[k]);
				called[k] += is_called_growing(hours[h] * 3600, true);
				without[k] += is_called_growing(hours[h] * 3600, false);
			}
			*(kinds[k].leaks ? &leaks : &healthy) += called[k];
			loose += kinds[k].leaks ? 0 : without[k];
			print_message("%4.1f h %-16s growing: %u of %u, %u without snapshots\n",
				      hours[h], kinds[k].name, called[k], ROUNDS, without[k]);
		}
		print_message("%4.1f h: %u of %u healthy, %u without snapshots; %u of %u leaks\n",
			      hours[h], healthy, 7 * ROUNDS, loose, leaks, 4 * ROUNDS);
		assert_int_equal(called[kind_of("leak")], ROUNDS);
		assert_int_equal(called[kind_of("request")], 0);
		assert_int_equal(called[kind_of("startup")], 0);
		assert_true(healthy <= loose);
		if (hours[h] > 3) {
			assert_int_equal(called[kind_of("lru")], 0);
			assert_int_equal(called[kind_of("session")], 0);
		}
	}
}

/* --- the curve ------------------------------------------------------------------ */

static double share_at(const struct survival_point *point, size_t count, double seconds)
{
	double share = 1;

	for (size_t i = 0; i < count && point[i].seconds <= seconds; i++)
		share = point[i].share;
	return share;
}

/* Lifetimes of mean 100 s, births over 200 s, some alive at the end, some from before. */
static size_t curve_of_exponential(struct survival_point *point, bool truncate)
{
	struct survival_window window = { .now = 200000, .hz = HZ,
					  .rule = survival_default_rule(200) };
	struct lifetimes deaths = { 0 };
	struct survival survival;
	size_t count;

	survival_init(&survival, &window, &deaths);
	for (int i = 0; i < 60000; i++) {
		double born = -400 + 600 * uniform(), died = born + exponential(100);
		double seen = born < 0 && truncate ? -born : 0;

		if (died < 0)
			continue;
		if (died <= 200)
			lifetimes_add(&deaths, (uint64_t)((died - born) * HZ), 1);
		if (born < 0)
			survival_add_late(&survival, (uint64_t)(seen * HZ),
					  (uint64_t)((200 - born) * HZ), died <= 200, 1);
		else if (died > 200)
			survival_add_live(&survival, (uint64_t)(born * HZ), 1);
	}
	count = survival_curve(&survival, point, SURVIVAL_MAX_POINTS);
	assert_true(count <= SURVIVAL_MAX_POINTS);
	assert_int_equal(survival_curve(&survival, NULL, 0), count);
	survival_done(&survival);
	lifetimes_done(&deaths);
	return count;
}

static void the_curve_is_kaplan_meiers(void **state)
{
	static struct survival_point point[SURVIVAL_MAX_POINTS];
	size_t count;

	(void)state;
	srand(5);
	count = curve_of_exponential(point, true);
	for (double t = 10; t <= 400; t *= 1.4) {
		double truth = exp(-t / 100);
		double got = share_at(point, count, t * 1.07);	/* a step's width */

		assert_true(fabs(got - truth) < 0.03 + 0.1 * truth);
	}
	for (size_t i = 1; i < count; i++)
		assert_true(point[i].share <= point[i - 1].share && point[i].share >= 0);
	/* Taken as seen from birth, the old ones would make blocks look longer-lived. */
	count = curve_of_exponential(point, false);
	assert_true(share_at(point, count, 107) > exp(-1) + 0.1);
}

static void a_small_curve_is_exact(void **state)
{
	struct survival_window window = { .now = 100, .hz = 1,
					  .rule = survival_default_rule(100) };
	struct lifetimes deaths = { 0 };
	struct survival_point point[4];
	struct survival survival;

	(void)state;
	/* Freed at 1, 3, 3 (weight 2); one alive at age 5. */
	lifetimes_add(&deaths, 1, 1);
	lifetimes_add(&deaths, 3, 2);
	survival_init(&survival, &window, &deaths);
	survival_add_live(&survival, 95, 1);
	assert_int_equal(survival_curve(&survival, point, 4), 2);
	assert_true(point[0].at_risk == 4 && point[0].deaths == 1 && point[0].share == 0.75);
	assert_true(point[1].at_risk == 3 && point[1].deaths == 2 && point[1].seconds == 4);
	assert_true(fabs(point[1].share - 0.25) < 1e-12);
	/* One that is alive at 3 was watched for half of that step. */
	survival_add_live(&survival, 97, 1);
	assert_int_equal(survival_curve(&survival, point, 4), 2);
	assert_true(point[1].at_risk == 3.5);
	survival_done(&survival);
	lifetimes_done(&deaths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaks_are_told_from_caches),
		cmocka_unit_test(less_time_means_more_caution),
		cmocka_unit_test(minutes_are_enough_for_short_blocks),
		cmocka_unit_test(samples_do_nearly_as_well),
		cmocka_unit_test(growth_is_said_when_nothing_is_stuck),
		cmocka_unit_test(the_plateau_has_bounds),
		cmocka_unit_test(growth_is_what_still_rises),
		cmocka_unit_test(the_curve_is_kaplan_meiers),
		cmocka_unit_test(a_small_curve_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
