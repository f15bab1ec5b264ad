/* SPDX-License-Identifier: MIT */
/*
 * test_budget.c - the controller against simulated targets: what they pay in the end, how soon the
 * interval follows, what bursts and idle phases do to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "src/watch/budget.h"

#define STEP 0.1	/* seconds */

/* A target: how it uses its time, and what we take for it. */
struct world {
	double load;		/* processors */
	double rate;		/* allocations per second of its own time */
	double size, giant;	/* of blocks; one in 1,000 is a giant, if there are any */
	double record, pair;	/* seconds for a record; for hooks that record nothing */
	double idle;		/* of ours, per second */
	double maps;		/* mappings per second of its own time */
	uint64_t random;
};

struct paid {
	double use, fixed, records;
	uint64_t least, most;	/* intervals */
};

static double uniform(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* About a Poisson count of this mean. */
static uint64_t draw(uint64_t *state, double mean)
{
	double normal = sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));
	double count = mean + sqrt(mean) * normal + 0.5;

	if (mean < 5)	/* a few: one by one */
		for (count = 0; mean > 0 && (mean += log(uniform(state))) > 0;)
			count++;
	return count > 0 ? (uint64_t)count : 0;
}

static double drawn_of(double blocks, double size, uint64_t interval)
{
	return interval <= 1 ? blocks : blocks * -expm1(-size / (double)interval);
}

static struct budget_input live_through(struct world *w, double wall, uint64_t interval)
{
	double use = w->load * wall, calls = w->rate * use;
	double giants = w->giant > 0 ? calls / 1000 : 0, blocks = calls - giants;
	double drawn = drawn_of(blocks, w->size, interval) + drawn_of(giants, w->giant, interval);
	struct budget_input in = {
		.wall = wall, .target = use,
		.fixed = calls * w->pair + wall * w->idle,
		.allocs = draw(&w->random, drawn),
		.certain = draw(&w->random, w->maps * use),
		.interval = (double)interval,
	};
	double seen = drawn > 0 ? (double)in.allocs / drawn : 0;	/* what chance made of it */

	in.drawn = 2 * in.allocs;	/* their frees */
	in.calls = calls * seen;
	in.bytes = (blocks * w->size + giants * w->giant) * seen;
	in.records = w->record * (double)(in.drawn + in.certain);
	return in;
}

static struct paid run(struct budget *b, struct world *w, double seconds)
{
	struct paid paid = { .least = UINT64_MAX };
	double step = b->memory.use > 0 ? STEP : STEP / 10;	/* it does not wait, see pace.c */

	for (double t = 0; t < seconds - STEP / 2; t += step, step = STEP) {
		struct budget_input in = live_through(w, step, b->interval);

		paid.use += in.target;
		paid.fixed += in.fixed;
		paid.records += in.records;
		paid.least = b->interval < paid.least ? b->interval : paid.least;
		paid.most = b->interval > paid.most ? b->interval : paid.most;
		budget_step(b, &in);
	}
	return paid;
}

static double share_of(const struct paid *paid)
{
	return (paid->fixed + paid->records) / paid->use;
}

static const struct world usual = {
	.load = 1, .rate = 1e6, .size = 100, .record = 5e-6, .pair = 2e-9, .idle = 3e-4,
	.random = 88172645463325252ull,
};

static void assert_within(double value, double low, double high)
{
	if (!(value >= low && value <= high))
		fail_msg("%g is not within %g and %g", value, low, high);
}

static void spends_what_it_may(void **state)
{
	static const double percent[] = { 0.5, 1, 5, 20 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct world w = usual;
		struct budget b;
		struct paid begin, later;

		budget_begin(&b, percent[i]);
		begin = run(&b, &w, 20);
		later = run(&b, &w, 60);
		assert_within(share_of(&later) * 100 / percent[i], 0.8, 1.05);
		assert_true(later.most < (percent[i] < 1 ? 6 : 3) * later.least);
		/* The first step records everything: that is made good. */
		later.use += begin.use;
		later.fixed += begin.fixed;
		later.records += begin.records;
		assert_within(share_of(&later) * 100 / percent[i], 0.8, 1.2);
	}
}

/* Another one while it runs: that is spent from then on, and what was saved is no fortune in it. */
static void follows_another_budget(void **state)
{
	static const double percent[] = { 5, 0.5, 20, 1 };
	struct world w = usual;
	struct budget b;

	(void)state;
	budget_begin(&b, 1);
	(void)run(&b, &w, 20);
	for (size_t i = 0; i < 4; i++) {
		struct paid paid;

		budget_set(&b, percent[i]);
		(void)run(&b, &w, 5);
		paid = run(&b, &w, 60);
		assert_within(share_of(&paid) * 100 / percent[i], 0.8, 1.05);
	}
}

/* Whatever the sizes: those that are drawn almost surely, too. */
static void converges_for_all_sizes(void **state)
{
	static const double size[] = { 8, 200, 5000, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		struct world w = usual;
		struct budget b;
		struct paid paid;

		w.size = size[i % 4];
		w.rate = w.size > 10000 ? 1e5 : w.rate;
		w.giant = i < 4 ? 0 : 3e6;
		budget_begin(&b, 1);
		(void)run(&b, &w, 30);
		paid = run(&b, &w, 60);
		assert_within(share_of(&paid) * 100, 0.75, 1.1);
	}
}

static void follows_a_step_up(void **state)
{
	struct world w = usual;
	struct budget b;
	struct paid first, second, all;
	uint64_t before;

	(void)state;
	w.rate = 1e5;
	budget_begin(&b, 1);
	(void)run(&b, &w, 30);
	before = b.interval;
	w.rate = 3e6;
	first = run(&b, &w, STEP);
	assert_within((double)b.interval / (double)before, 10, 100);	/* the next step is right */
	second = run(&b, &w, 1);
	assert_true(share_of(&second) < 0.0125);
	all = run(&b, &w, 60);
	all.use += first.use + second.use;
	all.fixed += first.fixed + second.fixed;
	all.records += first.records + second.records;
	assert_within(share_of(&all) * 100, 0.8, 1.1);
}

static void follows_a_step_down(void **state)
{
	struct world w = usual;
	struct budget b;
	struct paid paid;
	uint64_t before;

	(void)state;
	budget_begin(&b, 1);
	(void)run(&b, &w, 30);
	before = b.interval;
	w.rate /= 50;
	paid = run(&b, &w, STEP);
	assert_true(b.interval >= before / 2);		/* one step may be chance */
	(void)run(&b, &w, 5);
	assert_true(b.interval < before / 10);
	paid = run(&b, &w, 30);
	assert_within(share_of(&paid) * 100, 0.7, 1.1);
}

/* A fifth of a second of work every ten seconds. */
static void bursts_find_what_the_last_one_taught(void **state)
{
	struct world w = usual;
	struct budget b;
	struct paid all = { 0 };
	uint64_t end = 0;

	(void)state;
	budget_begin(&b, 1);
	for (int burst = 0; burst < 60; burst++) {
		struct paid paid;

		if (burst > 10)
			assert_within((double)b.interval / (double)end, 0.25, 4);
		w.load = 1;
		paid = run(&b, &w, 2 * STEP);
		all.use += burst < 30 ? 0 : paid.use;
		all.records += burst < 30 ? 0 : paid.records;
		end = b.interval;
		w.load = 0;
		(void)run(&b, &w, 10);
	}
	/* While it does nothing it may still cost a part of a twentieth of a processor. */
	assert_within(all.records / all.use * 100, 0.3, 4);
}

static void idle_phases_change_little(void **state)
{
	struct world w = usual;
	struct budget b;
	uint64_t before;

	(void)state;
	budget_begin(&b, 1);
	(void)run(&b, &w, 20);
	before = b.interval;
	w.load = 0;
	(void)run(&b, &w, 30);
	assert_within((double)b.interval / (double)before, 0.5, 2);
	w.load = 1;
	(void)run(&b, &w, STEP);
	assert_within((double)b.interval / (double)before, 0.5, 2);
}

/* As much for each of its threads: the interval is the same, so is the share. */
static void follows_the_number_of_threads(void **state)
{
	struct world w = usual;
	struct budget b;
	struct paid paid;
	double one;

	(void)state;
	budget_begin(&b, 1);
	(void)run(&b, &w, 20);
	one = (double)b.interval;
	for (int threads = 2; threads <= 64; threads *= 2) {
		w.load = threads;
		paid = run(&b, &w, 20);
		assert_within((double)b.interval / one, 0.6, 1.6);
		assert_within(share_of(&paid) * 100, 0.8, 1.1);
	}
	w.load = 0.2;
	(void)run(&b, &w, 20);
	paid = run(&b, &w, 60);
	assert_within(share_of(&paid) * 100, 0.7, 1.1);
}

/* Hooks, or mappings, that take more than there is: an eighth is spent all the same. */
static void leaves_something_for_samples(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world w = usual;
		struct budget b;
		struct paid paid;

		w.pair = i ? w.pair : 5e-8;
		w.maps = i ? 1e4 : 0;
		budget_begin(&b, 1);
		(void)run(&b, &w, 60);
		paid = run(&b, &w, 60);
		paid.records -= w.maps * paid.use * w.record;
		assert_within(paid.records / paid.use * 100, 0.06, 0.3);
		assert_true(b.interval < 1 << 28);
	}
}

static void a_quiet_program_is_seen_completely(void **state)
{
	struct world w = usual;
	struct budget b;

	(void)state;
	w.load = 0.01;
	w.rate = 500;
	budget_begin(&b, 1);
	(void)run(&b, &w, 3600);
	assert_true(b.interval <= 1);
}

/* Drawn before the last change, and seen after it: they say what they said before. */
static void late_records_tell_no_other_size(void **state)
{
	struct world w = usual;
	struct budget b;
	struct budget_input in;
	uint64_t first;

	(void)state;
	w.load = 0.2;
	budget_begin(&b, 1);
	in = live_through(&w, STEP / 10, 0);
	first = budget_step(&b, &in);
	assert_true(first > 10000);
	for (int i = 0; i < 3; i++) {
		in = live_through(&w, STEP / 20, 0);
		in.fixed = in.records = 0;	/* were paid for */
		(void)budget_step(&b, &in);
		assert_within((double)b.interval / (double)first, 0.1, 2);
	}
}

static void a_crowded_ring_widens_at_once(void **state)
{
	struct budget_input in = { .wall = 0.005, .target = 0.005, .crowded = true };
	struct budget b;

	(void)state;
	budget_begin(&b, 100);
	assert_int_equal(budget_step(&b, &in), BUDGET_FIRST_INTERVAL);
	assert_int_equal(budget_step(&b, &in), 2 * BUDGET_FIRST_INTERVAL);
	in.crowded = false;
	assert_int_equal(budget_step(&b, &in), 2 * BUDGET_FIRST_INTERVAL);
	for (int i = 0; i < 100; i++) {
		in.crowded = true;
		(void)budget_step(&b, &in);
	}
	assert_true(b.interval == 1 << 28);
}

/* Clocks that stand still, a target that lies: no step leads out of the numbers. */
static void nothing_breaks_it(void **state)
{
	static const double odd[] = { 0, -1, 1e-9, 1, 1e9, 1e300 };
	struct budget b;
	uint64_t random = 7;

	(void)state;
	budget_begin(&b, 1);
	for (int i = 0; i < 200000; i++) {
		struct budget_input in = {
			.wall = fabs(odd[(int)(6 * uniform(&random))]),
			.target = odd[(int)(6 * uniform(&random))],
			.fixed = odd[(int)(6 * uniform(&random))],
			.records = odd[(int)(6 * uniform(&random))],
			.drawn = (uint64_t)fabs(odd[(int)(5 * uniform(&random))]),
			.certain = (uint64_t)fabs(odd[(int)(5 * uniform(&random))]),
			.interval = odd[(int)(6 * uniform(&random))],
			.calls = odd[(int)(6 * uniform(&random))],
			.bytes = odd[(int)(6 * uniform(&random))],
			.crowded = uniform(&random) >= 0.5,
		};

		assert_true(budget_step(&b, &in) <= 1 << 28);
	}
}

/* An interval misses all that passed in it, if that is little; the next one does so as well. */
static void what_is_unseen_adds_up(void **state)
{
	struct budget budget = { .interval = 0 };
	struct estimate_unseen unseen = budget_unseen(&budget, 0);

	(void)state;
	assert_true(unseen.unit <= 0 && unseen.beyond <= 0);
	assert_true(budget_unseen(&budget, 8192).unit <= 0);	/* nothing passed */
	budget.interval = 1 << 21;
	budget_note_passed(&budget, 1000000);
	unseen = budget_unseen(&budget, 0);
	assert_true(unseen.unit <= 0 && fabs(unseen.beyond - 1000000) < 1);
	budget.interval = 1 << 20;
	budget_note_passed(&budget, 800000);
	unseen = budget_unseen(&budget, 0);
	assert_true(unseen.unit <= 0 && fabs(unseen.beyond - 1800000) < 1);
	/* So much passed in the finer interval that samples of it must have been drawn. */
	budget_note_passed(&budget, 1e9);
	unseen = budget_unseen(&budget, 0);
	assert_true(fabs(unseen.unit - (1 << 20)) < 1 && fabs(unseen.beyond - 1000000) < 1);
	budget.interval = 1 << 21;
	budget_note_passed(&budget, 1e9);
	unseen = budget_unseen(&budget, 0);
	assert_true(fabs(unseen.unit - (1 << 21)) < 1 && unseen.beyond <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spends_what_it_may),
		cmocka_unit_test(follows_another_budget),
		cmocka_unit_test(converges_for_all_sizes),
		cmocka_unit_test(follows_a_step_up),
		cmocka_unit_test(follows_a_step_down),
		cmocka_unit_test(bursts_find_what_the_last_one_taught),
		cmocka_unit_test(idle_phases_change_little),
		cmocka_unit_test(follows_the_number_of_threads),
		cmocka_unit_test(leaves_something_for_samples),
		cmocka_unit_test(a_quiet_program_is_seen_completely),
		cmocka_unit_test(late_records_tell_no_other_size),
		cmocka_unit_test(a_crowded_ring_widens_at_once),
		cmocka_unit_test(what_is_unseen_adds_up),
		cmocka_unit_test(nothing_breaks_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
