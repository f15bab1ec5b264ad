/* SPDX-License-Identifier: MIT */
/* test_episodes.c - what a session's figures tell, how often, with which numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/daemon/episodes.h"

#define EVERY	60.0

struct fixture {
	struct episodes episodes;
	struct figures figures;
	struct episode_news news[EPISODE_NEWS];
	size_t count;
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->figures.state.mode = SCREEN_ADAPTIVE;
	episodes_init(&f->episodes, EVERY, 1);
}

static void next(struct fixture *f)
{
	f->figures.time += EVERY;
	f->count = episodes_take(&f->episodes, &f->figures, f->news);
}

static uint64_t number(const struct episode_news *news, const char *name)
{
	for (size_t i = 0; i < news->numbers; i++)
		if (strcmp(news->number[i].name, name) == 0)
			return news->number[i].value;
	fail_msg("no %s", name);
	return 0;
}

/* --- growth ----------------------------------------------------------------- */

static void live(struct fixture *f, uint64_t mib)
{
	struct screen_state *s = &f->figures.state;

	s->live_bytes = s->live_low = s->live_high = s->rss_bytes = mib << 20;
	next(f);
}

static void tell_growth_and_plateau(void **state)
{
	struct fixture f;
	uint64_t i = 0;

	(void)state;
	begin(&f);
	f.figures.growing = 3;
	while (i < 50 && !f.count)
		live(&f, ++i);
	assert_int_equal(i, GROWTH_BEFORE + GROWTH_RUN);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.news->kind, EVENT_GROWTH);
	assert_int_equal(number(f.news, "LIVE_BYTES"), 32 << 20);
	assert_int_equal(number(f.news, "GROWTH_BYTES"), 20 << 20);
	assert_int_equal(number(f.news, "GROWTH_SECONDS"), 20 * 60);
	assert_int_equal(number(f.news, "GROWTH_BYTES_PER_HOUR"), 60 << 20);
	assert_int_equal(number(f.news, "GROWING_SITES"), 3);
	assert_string_equal(f.news->text, "it grows: by 20.0 MiB in 20 min 0 s to 32.0 MiB live, "
			    "60.0 MiB an hour, at 3 sites");
	assert_int_equal(number(f.news, "TOO_FEW_SAMPLES_SITES"), 0);
	for (i = 0, f.count = 0; i < 30 && !f.count; i++)
		live(&f, 32);
	assert_int_equal(i, GROWTH_HELD);
	assert_int_equal(f.news->kind, EVENT_PLATEAU);
	assert_int_equal(number(f.news, "LIVE_BYTES"), 32 << 20);
	assert_int_equal(number(f.news, "GROWTH_BYTES"), 20 << 20);
}

/* The process grows, and of none of its sites is enough known to say that it is the one. */
static void say_what_rests_on_too_little(void **state)
{
	struct fixture f;
	uint64_t i = 0;

	(void)state;
	begin(&f);
	while (i < 60 && !f.count)
		live(&f, ++i);
	assert_int_equal(f.count, 0);
	begin(&f);
	f.figures.too_few = 2;
	for (i = 0; i < 50 && !f.count;)
		live(&f, ++i);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.news->kind, EVENT_GROWTH);
	assert_int_equal(number(f.news, "GROWING_SITES"), 0);
	assert_int_equal(number(f.news, "TOO_FEW_SAMPLES_SITES"), 2);
	assert_non_null(strstr(f.news->text, "at 0 sites; 2 sites had too few samples to tell"));
}

/* An analyst that tells figures all the time gets no further than one that does not. */
static void look_at_no_flood(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.figures.growing = 1;
	for (int i = 1; i <= 1000; i++) {
		f.figures.time += EVERY / 1000;
		f.figures.state.gaps++;
		f.figures.state.live_bytes = f.figures.state.live_low = (uint64_t)i << 20;
		f.count += episodes_take(&f.episodes, &f.figures, f.news);
	}
	assert_true(f.count <= 2);
}

/* Ends of an interval that encloses nothing. */
static void believe_no_odd_interval(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.figures.growing = 1;
	for (int i = 0; i < 100; i++) {
		f.figures.state.live_bytes = 1 << 20;
		f.figures.state.live_low = (uint64_t)i << 30;
		next(&f);
		assert_int_equal(f.count, 0);
	}
}

/* --- the budget --------------------------------------------------------------- */

static unsigned int cost(struct fixture *f, double percent, double cpu, int times)
{
	unsigned int told = 0;

	f->figures.state.overhead_percent = percent;
	f->figures.state.analyst_cpu = cpu;
	for (int i = 0; i < times; i++) {
		next(f);
		told += f->count > 0;
	}
	return told;
}

static void tell_of_the_budget_once(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(cost(&f, 2.5, 0.1, EPISODE_BUDGET_RUN - 1), 0);
	assert_int_equal(cost(&f, 0.5, 0.1, 1), 0);
	assert_int_equal(cost(&f, 2.5, 0.1, EPISODE_BUDGET_RUN - 1), 0);
	assert_int_equal(cost(&f, 2.5, 0.1, 1), 1);
	assert_int_equal(f.news->kind, EVENT_BUDGET);
	assert_int_equal(number(f.news, "OVERHEAD_PPM"), 25000);
	assert_int_equal(number(f.news, "BUDGET_PPM"), 10000);
	assert_int_equal(cost(&f, 2.5, 0.1, 100), 0);
	assert_int_equal(cost(&f, 0.5, 0.1, EPISODE_BUDGET_RUN - 1), 0);
	assert_int_equal(cost(&f, 2.5, 0.1, 100), 0);		/* it was not below for long */
	assert_int_equal(cost(&f, 0.5, 0.1, EPISODE_BUDGET_RUN), 0);
	assert_int_equal(cost(&f, 2.5, 0.1, 100), 1);
	/* of an idle process; of a fixed interval; without a budget */
	begin(&f);
	assert_int_equal(cost(&f, 300, 0.001, 100), 0);
	f.figures.state.mode = SCREEN_SAMPLED;
	assert_int_equal(cost(&f, 300, 0.5, 100), 0);
	f.figures.state.mode = SCREEN_ADAPTIVE;
	episodes_init(&f.episodes, EVERY, 0);
	assert_int_equal(cost(&f, 300, 0.5, 100), 0);
}

/* --- losses ------------------------------------------------------------------- */

static void tell_of_losses_as_they_double(void **state)
{
	struct fixture f;
	unsigned int told = 0;

	(void)state;
	begin(&f);
	next(&f);
	assert_int_equal(f.count, 0);
	f.figures.state.lost_alloc = 2;
	f.figures.state.lost_stack = 3;
	next(&f);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.news->kind, EVENT_LOSS);
	assert_int_equal(number(f.news, "LOST_EVENTS"), 5);
	for (int i = 0; i < 100; i++) {
		next(&f);
		assert_int_equal(f.count, 0);
	}
	for (int i = 0; i < 1000; i++) {
		f.figures.state.lost_free++;
		next(&f);
		told += f.count > 0;
	}
	assert_int_equal(told, 7);	/* 10, 20, ... 640 */
	f.figures.state.gaps = 1;
	f.figures.state.gap_seconds = 2.5;
	next(&f);
	assert_int_equal(f.count, 1);
	assert_int_equal(number(f.news, "GAPS"), 1);
	assert_int_equal(number(f.news, "GAP_SECONDS"), 2);
}

/* --- leaks -------------------------------------------------------------------- */

static size_t found(struct fixture *f, uint64_t count, uint64_t bytes)
{
	f->figures.search.found.kind[SCREEN_DEFINITELY].count = count;
	f->figures.search.found.kind[SCREEN_DEFINITELY].bytes = bytes;
	return episodes_take_search(&f->episodes, &f->figures.search, f->news);
}

static void tell_of_leaks_as_they_double(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(found(&f, 0, 0), 0);
	assert_int_equal(found(&f, 3, 1000), 1);
	assert_int_equal(f.news->kind, EVENT_LEAK);
	assert_int_equal(number(f.news, "LEAKED_BLOCKS"), 3);
	assert_int_equal(number(f.news, "LEAKED_BYTES"), 1000);
	assert_string_equal(f.news->text, "3 blocks of 1000 B in all definitely lost");
	assert_int_equal(found(&f, 3, 1000), 0);
	assert_int_equal(found(&f, 5, 1999), 0);
	assert_int_equal(found(&f, 6, 2000), 1);
	assert_int_equal(found(&f, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tell_growth_and_plateau),
		cmocka_unit_test(say_what_rests_on_too_little),
		cmocka_unit_test(look_at_no_flood),
		cmocka_unit_test(believe_no_odd_interval),
		cmocka_unit_test(tell_of_the_budget_once),
		cmocka_unit_test(tell_of_losses_as_they_double),
		cmocka_unit_test(tell_of_leaks_as_they_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
