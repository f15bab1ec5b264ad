/* SPDX-License-Identifier: MIT */
/*
 * test_doubt.c - the intervals of all figures, by simulation: at least 93 of 100 enclose the truth,
 * with and without records that are lost; exact where nothing is in doubt, and within what the
 * process can hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "src/base/cleanup.h"
#include "src/live/doubt.h"
#include "src/watch/budget.h"

#define ROUNDS 600u

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

/* A site's books, and what is true of it. */
struct books {
	struct estimate alloc, live, untracked;
	struct site_peak peak;
	uint64_t peak_level, passed, hidden, hidden_bytes;
	double alloc_count, alloc_bytes, live_count, live_bytes, peak_bytes;
	struct budget budget;	/* which keeps what passed, interval by interval */
};

static struct doubt_figures figures_of(const struct books *b, const struct doubt *doubt)
{
	const struct doubt_sums sums = {
		.alloc = &b->alloc, .live = &b->live, .untracked = &b->untracked,
		.peak_level = b->peak_level, .peak = &b->peak,
	};

	return doubt_figures(doubt, &sums);
}

static void add(struct books *b, const struct estimate_term *term)
{
	estimate_add(&b->alloc, term);
	estimate_add(&b->live, term);
	if (estimate_level(&b->live) <= b->peak_level)
		return;
	b->peak_level = estimate_level(&b->live);
	if (b->live.weighted_bytes)
		b->peak = (struct site_peak){ b->peak_level,
					      b->live.bytes + b->live.sampled_bytes,
					      b->live.variance_bytes };
}

/* One block: drawn by interval (0: all are), its record lost with that chance, freed with that. */
static void live_through(struct books *b, uint64_t size, uint64_t interval, double lost,
			 double freed)
{
	struct estimate_term term = estimate_term(size, interval);
	double weight = estimate_weight(size, interval);
	bool drawn = uniform() < 1 / weight, gone = uniform() < freed, missed = uniform() < lost;

	b->alloc_count++;
	b->alloc_bytes += (double)size;
	b->live_bytes += (double)size;
	b->peak_bytes = fmax(b->peak_bytes, b->live_bytes);
	if (gone)
		b->live_bytes -= (double)size;
	else
		b->live_count++;
	if (interval) {
		b->passed += size;
		b->budget.interval = interval;
		budget_note_passed(&b->budget, (double)size);
	}
	if (drawn && missed) {	/* as shim/loss.c */
		b->hidden += 1 + interval / size;
		b->hidden_bytes += size + interval;
	} else if (drawn) {
		add(b, &term);
		if (gone)
			estimate_remove(&b->live, &term);
	}
}

struct outcome {
	unsigned int covered[6];
};

static bool encloses(const struct figure *figure, double truth)
{
	assert_true(figure->low <= figure->value && figure->value <= figure->high);
	assert_true(figure->low < figure->high || (double)figure->value == truth);
	return (double)figure->low <= truth && truth <= (double)figure->high;
}

static void judge(const struct books *b, const struct doubt *doubt, struct outcome *outcome)
{
	struct doubt_figures f = figures_of(b, doubt);

	outcome->covered[0] += encloses(&f.alloc_count, b->alloc_count);
	outcome->covered[1] += encloses(&f.alloc_bytes, b->alloc_bytes);
	outcome->covered[2] += encloses(&f.free_count, b->alloc_count - b->live_count);
	outcome->covered[3] += encloses(&f.live_count, b->live_count);
	outcome->covered[4] += encloses(&f.live_bytes, b->live_bytes);
	outcome->covered[5] += encloses(&f.peak_bytes, b->peak_bytes);
}

/* Sizes of a site; how it is watched. */
struct world {
	const char *name;
	uint64_t size[3];
	unsigned int whole, calls;	/* so many are all recorded; so many in all */
	double lost, freed;
	uint64_t interval[4];		/* of the others, part by part; 0: no further part */
};
static const struct world worlds[] = {
	{ "one size", { 200, 200, 200 }, 0, 3000, 0, 0.9, { 8192 } },
	{ "many sizes", { 16, 256, 4096 }, 0, 3000, 0, 0.5, { 8192 } },
	{ "a burst into an idle program", { 200, 200, 200 }, 300, 2000, 0.3, 0.9, { 60000 } },
	{ "of which nothing is drawn", { 64, 64, 64 }, 100, 1000, 0, 0.9, { 4000000 } },
	{ "a burst that narrows it", { 200, 200, 200 }, 300, 10000, 0, 0, { 2000000, 1000000 } },
	{ "and again", { 200, 200, 200 }, 0, 10000, 0, 0.1, { 1600000, 800000, 400000, 200000 } },
	{ "a burst that widens it", { 200, 200, 200 }, 0, 10000, 0, 0, { 20000, 1000000 } },
	{ "and pages", { 4096, 4096, 4096 }, 0, 750, 0, 0, { 10000, 100000, 1000000 } },
	{ "all recorded, half of it lost", { 100, 100, 30 }, 2000, 2000, 0.5, 0.9, { 0 } },
	{ "samples lost", { 100, 1000, 30 }, 0, 5000, 0.2, 0.5, { 16384 } },
};

/* The interval that call i meets. */
static uint64_t interval_at(const struct world *w, unsigned int i)
{
	unsigned int parts = 1;

	while (parts < ARRAY_SIZE(w->interval) && w->interval[parts])
		parts++;
	return i < w->whole ? 0 : w->interval[(i - w->whole) * parts / (w->calls - w->whole)];
}

static void one_round(const struct world *w, struct outcome *outcome)
{
	struct books b = { .peak_level = 0 };
	struct doubt doubt = { .passed = 0 };
	uint64_t smallest = UINT64_MAX;

	for (unsigned int i = 0; i < w->calls; i++) {
		uint64_t size = w->size[(unsigned int)(uniform() * 3)];

		smallest = size < smallest ? size : smallest;
		live_through(&b, size, interval_at(w, i), w->lost, w->freed);
	}
	doubt.passed = b.passed;
	doubt.unseen = budget_unseen(&b.budget, 0);
	doubt.smallest = smallest;
	doubt.hidden = b.hidden;
	doubt.hidden_bytes = b.hidden_bytes;
	judge(&b, &doubt, outcome);
}

static void all_enclose_the_truth(void **state)
{
	static const char *const what[] = { "alloc count", "alloc bytes", "free count",
					    "live count", "live bytes", "peak" };

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(worlds); w++) {
		struct outcome outcome = { { 0 } };

		seed = 4711 + w;
		for (unsigned int round = 0; round < ROUNDS; round++)
			one_round(&worlds[w], &outcome);
		for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
			print_message("%s: %s: %u of %u\n", worlds[w].name, what[i],
				      outcome.covered[i], ROUNDS);
			assert_true(outcome.covered[i] * 100 >= ROUNDS * 93);
		}
	}
}

static struct books books_of(uint64_t size, unsigned int count, uint64_t interval)
{
	const struct estimate_term term = estimate_term(size, interval);
	struct books b = { .peak_level = 0 };

	for (unsigned int i = 0; i < count; i++)
		add(&b, &term);
	return b;
}

#define ASSERT_FIGURE(figure, v, l, h) \
	do { \
		assert_int_equal((figure).value, v); \
		assert_int_equal((figure).low, l); \
		assert_int_equal((figure).high, h); \
	} while (0)

static void nothing_in_doubt_is_exact(void **state)
{
	const struct books b = books_of(200, 30, 0);
	const struct doubt none = { .held = 5000, .held_peak = 5000 };
	struct doubt_figures f = figures_of(&b, &none);

	(void)state;
	ASSERT_FIGURE(f.alloc_count, 30, 30, 30);
	ASSERT_FIGURE(f.alloc_bytes, 6000, 6000, 6000);
	ASSERT_FIGURE(f.free_count, 0, 0, 0);
	ASSERT_FIGURE(f.live_bytes, 6000, 6000, 6000);	/* it was seen, whatever is held */
	ASSERT_FIGURE(f.peak_bytes, 6000, 6000, 6000);
}

/* Nothing was drawn since the interval moved, and some was allocated. */
static void unseen_is_in_doubt(void **state)
{
	const struct books b = books_of(200, 30, 0);
	const struct doubt doubt = { .unseen.beyond = 20000, .passed = 20000, .smallest = 200 };
	struct doubt_figures f = figures_of(&b, &doubt);

	(void)state;
	ASSERT_FIGURE(f.alloc_count, 30, 30, 130);
	ASSERT_FIGURE(f.alloc_bytes, 6000, 6000, 26000);
	ASSERT_FIGURE(f.live_bytes, 6000, 6000, 26000);
	assert_true(f.free_count.high >= 100 && f.free_bytes.high >= 20000);
	assert_true(f.peak_bytes.high >= 26000);
}

static void losses_widen(void **state)
{
	const struct books b = books_of(200, 30, 0);
	struct doubt doubt = { .hidden = 7, .hidden_bytes = 1400 };
	struct doubt_figures f = figures_of(&b, &doubt);
	struct figure temporary = doubt_counted(&doubt, 5);

	(void)state;
	ASSERT_FIGURE(f.alloc_count, 30, 30, 37);
	ASSERT_FIGURE(f.live_bytes, 6000, 6000, 7400);
	ASSERT_FIGURE(f.peak_bytes, 6000, 6000, 7400);
	ASSERT_FIGURE(f.free_count, 0, 0, 7);
	ASSERT_FIGURE(temporary, 5, 0, 12);
	doubt = (struct doubt){ .lost_frees = 3 };
	f = figures_of(&b, &doubt);
	assert_true(f.live_bytes.low <= 6000 - 3 * 200 && f.live_bytes.high == 6000);
	assert_true(f.free_count.high >= 3);
	doubt.lost_frees = 100;
	assert_int_equal(figures_of(&b, &doubt).live_bytes.low, 0);
}

/* A sample that stands for 256 MiB, in a process of 2 MiB. */
static void nobody_holds_more_than_there_is(void **state)
{
	const struct books b = books_of(200, 1, 256u << 20);
	const struct doubt doubt = { .unseen.unit = 1e6, .passed = 3000000, .smallest = 200,
				     .held = 2 << 20, .held_peak = 2 << 20 };
	struct doubt_figures f = figures_of(&b, &doubt);

	(void)state;
	assert_in_range(f.live_bytes.value, 200, 2 << 20);
	assert_in_range(f.live_bytes.high, 200, 2 << 20);
	assert_in_range(f.peak_bytes.value, 200, 2 << 20);
	assert_in_range(f.peak_bytes.high, 200, 2 << 20);
	assert_in_range(f.alloc_bytes.high, 200, 3000000);
	assert_in_range(f.alloc_count.high, 1, 15000);
}

/* Chance drew a little more than passed: the interval holds below that, and what was freed. */
static void less_passed_than_was_estimated(void **state)
{
	struct books b = books_of(200, 1000, 8192);
	const struct estimate_term term = estimate_term(200, 8192);
	uint64_t estimated = estimate_bytes(&b.alloc);
	const struct doubt doubt = { .unseen.unit = 8192, .passed = estimated - estimated / 50,
				     .smallest = 200 };
	struct doubt_figures f;

	(void)state;
	for (unsigned int i = 0; i < 900; i++)
		estimate_remove(&b.live, &term);
	f = figures_of(&b, &doubt);
	assert_int_equal(f.alloc_bytes.value, doubt.passed);
	assert_int_equal(f.alloc_bytes.high, doubt.passed);
	assert_in_range(f.alloc_bytes.low, estimated / 10 * 9, doubt.passed);
	assert_true(f.alloc_bytes.low >= f.free_bytes.low);
	assert_true(f.alloc_count.low >= f.free_count.low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_enclose_the_truth),
		cmocka_unit_test(nothing_in_doubt_is_exact),
		cmocka_unit_test(unseen_is_in_doubt),
		cmocka_unit_test(losses_widen),
		cmocka_unit_test(nobody_holds_more_than_there_is),
		cmocka_unit_test(less_passed_than_was_estimated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
