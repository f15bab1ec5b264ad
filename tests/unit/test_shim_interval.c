/* SPDX-License-Identifier: MIT */
/*
 * test_shim_interval.c - the interval moves, and the figures stay right.
 *
 * 200 seeded runs of the shim's own sampler, its interval moved by the controller in the middle
 * of the work: of all sites that expect 5 samples or more at least 93 % of the 95 % intervals cover
 * the truth, and the estimates' mean is the truth. With weights from another interval than that of
 * the count-down which fired neither holds: that is tried, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "src/live/estimate.h"
#include "src/ring/ring_threads.h"
#include "src/watch/budget.h"
#include "tests/unit/shim_host.h"

#define RUNS		200u
#define STEPS		25u
#define MOST_CALLS	8000u	/* in one step */
#define SITES		8u	/* told apart by the low bits of their sizes */
#define BLOCKS		(STEPS * MOST_CALLS)
#define FIRST_BLOCK	0x10000u
#define RING_BYTES	(4u << 20)	/* what a step records */
#define RECORD		5e-6	/* seconds, for the controller */

static uintptr_t next_block;
static void *fake_malloc(size_t size)
{
	(void)size;
	return (void *)(next_block += 16);
}
static void fake_free(void *block)
{
	(void)block;
}

/* Sizes of one site, and how many of its blocks stay. */
struct kind {
	uint64_t size[4];
	double share[4];	/* cumulative */
	double freed;
};
static const struct kind kinds[SITES] = {
	{ { 16 }, { 1 }, 0 },
	{ { 104 }, { 1 }, 0.5 },
	{ { 4096 }, { 1 }, 0 },
	{ { 20000 }, { 1 }, 0.9 },
	{ { 24, 8000 }, { 0.99, 1 }, 0 },
	{ { 8, 128, 2048, 32768 }, { 0.6, 0.9, 0.99, 1 }, 0.5 },
	{ { 64, 1 << 20 }, { 0.999, 1 }, 0 },
	{ { 512, 1024 }, { 0.5, 1 }, 0.3 },
};

struct site {
	struct estimate live;
	double expected, truth;
};

struct run {
	struct shim_host host;
	void *(*malloc)(size_t);
	void (*free)(void *);
	bool wrong;		/* the interval of now, not that of the count-down */
	struct site site[SITES];
	struct budget budget;
	uint64_t random, drawn, allocs, least, most;
	double calls, bytes;	/* estimated, in this step */
	uint64_t passed, asked;	/* as the shim counts them down, and as it was */
	struct estimate_term *term;	/* of each block that was sampled */
};

/* Over all runs. */
struct outcome {
	unsigned int sites, covered;
	double sum[SITES], squares[SITES];	/* of relative errors */
	unsigned int count[SITES], hit[SITES];
	uint64_t least, most;
};

static double uniform(struct run *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return ((double)(r->random >> 11) + 0.5) / 9007199254740992.0;
}

static void take(void *context, const struct ring_record *record, const struct ring_stack *stack,
		 const uint8_t *bytes)
{
	struct run *r = context;
	struct site *site = &r->site[record->size % SITES];
	struct estimate_term *term = &r->term[(record->address - FIRST_BLOCK) / 16];

	(void)bytes;
	r->drawn++;
	if (record->kind == RING_FREE) {
		estimate_remove(&r->site[term->size % SITES].live, term);
		return;
	}
	*term = estimate_term(record->size,
			      r->wrong ? r->host.control->interval : stack->interval);
	estimate_add(&site->live, term);
	r->allocs++;
	r->calls += (double)estimate_term_count(term) / ESTIMATE_COUNT_ONE;
	r->bytes += (double)estimate_term_bytes(term) / ESTIMATE_BYTES_ONE;
}

static void drain(struct run *r)
{
	shim_host_drain(&r->host, 0, take, r, NULL);
}

static uint64_t draw_size(struct run *r, unsigned int site)
{
	const struct kind *kind = &kinds[site];
	double u = uniform(r);
	unsigned int i = 0;

	while (kind->share[i] < u && i < 3)
		i++;
	return kind->size[i] + site;	/* the sizes are multiples of SITES */
}

static void one_call(struct run *r)
{
	unsigned int at = (unsigned int)(uniform(r) * SITES);
	uint64_t size = draw_size(r, at);
	void *block = r->malloc(size);

	r->asked += size;
	if (uniform(r) < kinds[at].freed) {
		r->free(block);
	} else {
		r->site[at].truth += (double)size;
		r->site[at].expected += 1 / estimate_weight(size, r->host.control->interval);
	}
}

/* What passed so far did so in the present interval. */
static void note_passed(struct run *r)
{
	uint64_t passed = ring_threads_passed(r->host.control, r->host.bytes);

	budget_note_passed(&r->budget, (double)(passed - r->passed));
	r->passed = passed;
}

/* Bursts and lulls; the interval that is found comes into force somewhere within the next step. */
static void one_step(struct run *r)
{
	unsigned int calls = 200 + (unsigned int)(pow(uniform(r), 3) * (MOST_CALLS - 200));
	unsigned int moved = (unsigned int)(uniform(r) * calls);
	struct budget_input in = { .wall = 0.1, .target = 0.1 };

	r->drawn = r->allocs = 0;
	r->calls = r->bytes = 0;
	for (unsigned int i = 0; i < calls; i++) {
		if (i == moved) {
			uint64_t found = r->budget.interval;

			r->budget.interval = r->host.control->interval;
			note_passed(r);
			r->budget.interval = r->host.control->interval = found;
		}
		one_call(r);
	}
	note_passed(r);
	drain(r);	/* of both intervals */
	in.drawn = r->drawn;
	in.allocs = r->allocs;
	in.calls = r->calls;
	in.bytes = r->bytes;
	in.records = RECORD * (double)in.drawn;
	(void)budget_step(&r->budget, &in);
	r->least = r->budget.interval < r->least ? r->budget.interval : r->least;
	r->most = r->budget.interval > r->most ? r->budget.interval : r->most;
}

static void judge(const struct run *r, struct outcome *outcome)
{
	for (unsigned int i = 0; i < SITES; i++) {
		const struct site *site = &r->site[i];
		struct estimate_interval interval =
			estimate_bytes_interval(&site->live, budget_unseen(&r->budget, 0));
		double error = interval.value / site->truth - 1;

		if (site->expected < 5)
			continue;
		outcome->sites++;
		outcome->hit[i] += interval.low <= site->truth && site->truth <= interval.high;
		outcome->covered += interval.low <= site->truth && site->truth <= interval.high;
		outcome->count[i]++;
		outcome->sum[i] += error;
		outcome->squares[i] += error * error;
	}
	outcome->least = r->least < outcome->least ? r->least : outcome->least;
	outcome->most = r->most > outcome->most ? r->most : outcome->most;
}

static void one_run(uint64_t seed, bool wrong, struct outcome *outcome)
{
	const struct shim_host_options options = {
		.mode = RING_MODE_SAMPLE, .seed = seed, .interval = BUDGET_FIRST_INTERVAL,
		.table_slots = 1u << 15, .ring_bytes = RING_BYTES,
	};
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->term = calloc(BLOCKS + 2, sizeof(*r->term));
	assert_non_null(r->term);
	r->random = seed * 0x9e3779b97f4a7c15ull;
	r->wrong = wrong;
	r->least = UINT64_MAX;
	next_block = FIRST_BLOCK;
	shim_host_open(&r->host, &options);
	*(void **)&r->malloc = shim_host_hook(&r->host, RING_SHAPE_MALLOC,
					      (const void *)fake_malloc, 0, 0, RING_ISLAND_TLS);
	*(void **)&r->free = shim_host_hook(&r->host, RING_SHAPE_FREE, (const void *)fake_free,
					    0, 0, 0);
	shim_host_arm(&r->host);
	budget_begin(&r->budget, 1);
	r->budget.interval = BUDGET_FIRST_INTERVAL;
	for (unsigned int i = 0; i < STEPS; i++)
		one_step(r);
	assert_int_equal(r->host.control->ring[0].lost_alloc, 0);
	assert_int_equal(r->host.control->lost_table, 0);
	assert_int_equal(r->passed, r->asked);
	judge(r, outcome);
	shim_host_close(&r->host);
	free(r->term);
	free(r);
}

/* How many standard errors the mean of the relative errors of site i lies from 0. */
static double bias(const struct outcome *outcome, unsigned int i)
{
	double n = outcome->count[i], mean = outcome->sum[i] / n;
	double variance = (outcome->squares[i] - n * mean * mean) / (n - 1);

	return mean / sqrt(variance / n);
}

static struct outcome all_runs(bool wrong)
{
	struct outcome outcome = { .least = UINT64_MAX };

	for (unsigned int run = 1; run <= RUNS; run++)
		one_run(run, wrong, &outcome);
	for (unsigned int i = 0; i < SITES; i++)
		print_message("site %u: %u of %u, mean %+.4f, %.2f standard errors\n", i,
			      outcome.hit[i], outcome.count[i], outcome.sum[i] / outcome.count[i],
			      bias(&outcome, i));
	print_message("%u of %u covered, intervals from %llu to %llu\n", outcome.covered,
		      outcome.sites, (unsigned long long)outcome.least,
		      (unsigned long long)outcome.most);
	return outcome;
}

static void right_while_it_moves(void **state)
{
	struct outcome outcome = all_runs(false);

	(void)state;
	assert_true(outcome.most > 16 * outcome.least);
	assert_true(outcome.covered * 100 >= outcome.sites * 93);
	for (unsigned int i = 0; i < SITES; i++) {
		assert_in_range(outcome.count[i], RUNS / 4, RUNS);
		assert_true(fabs(bias(&outcome, i)) < 4);
	}
}

static void another_interval_is_noticed(void **state)
{
	struct outcome outcome = all_runs(true);
	unsigned int biased = 0;

	(void)state;
	for (unsigned int i = 0; i < SITES; i++)
		biased += fabs(bias(&outcome, i)) >= 4;
	assert_true(outcome.covered * 100 < outcome.sites * 93);
	assert_true(biased >= SITES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_while_it_moves),
		cmocka_unit_test(another_interval_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
