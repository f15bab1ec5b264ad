/* SPDX-License-Identifier: MIT */
/*
 * test_timeline.c - points of the timeline: their intervals enclose the truth, joined ones too;
 * their values add up to the totals; rates follow from them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "src/live/live_evict.h"
#include "src/live/snapshot_rates.h"
#include "tests/unit/sample_session.h"

#define ROUNDS		60u
#define POINTS		6u
#define CALLS		1500u	/* in an interval */
#define INTERVAL	8192u

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

/* What is true of an interval, or of several. */
struct truth {
	uint64_t allocs, frees, bytes;
};

static struct truth truth_sum(const struct truth *truth, size_t count)
{
	struct truth ret = { 0 };

	for (size_t i = 0; i < count; i++) {
		ret.allocs += truth[i].allocs;
		ret.frees += truth[i].frees;
		ret.bytes += truth[i].bytes;
	}
	return ret;
}

/* Half of the blocks are freed at once. */
static void live_through(struct sample *sample, struct truth *truth)
{
	for (unsigned int i = 0; i < CALLS; i++) {
		uint64_t address = sample->now * 64 + 64, size = uniform() < 0.5 ? 48 : 400;
		bool drawn = uniform() < 1 / estimate_weight(size, INTERVAL);
		bool freed = uniform() < 0.5;

		truth->allocs++;
		truth->bytes += size;
		truth->frees += freed;
		sample->passed += size;
		if (!drawn)
			continue;
		sample_alloc(sample, address, size, INTERVAL, sample->stack[0]);
		if (freed)
			sample_free(sample, address);
	}
	sample_tick(sample);
}

static bool encloses(const struct timeline_bounds *in, uint64_t value, uint64_t truth)
{
	assert_true(in->low <= value && value <= in->high);
	assert_true(in->low < in->high || value == truth);
	return in->low <= truth && truth <= in->high;
}

static void judge(const struct timeline_point *p, const struct truth *truth,
		  unsigned int covered[3])
{
	assert_true(p->bounded);
	covered[0] += encloses(&p->in.alloc_count, p->alloc_count, truth->allocs);
	covered[1] += encloses(&p->in.free_count, p->free_count, truth->frees);
	covered[2] += encloses(&p->in.alloc_bytes, p->alloc_bytes, truth->bytes);
}

static void one_round(unsigned int each[3], unsigned int joined[3])
{
	struct truth truth[POINTS] = { 0 };
	struct sample sample;
	struct timeline_point *point, all;
	struct truth sum;

	sample_init(&sample, false);
	sample.unit = INTERVAL;
	for (size_t i = 0; i < POINTS; i++)
		live_through(&sample, &truth[i]);
	point = sample.timeline.point;
	all = point[0];
	for (size_t i = 0; i < POINTS; i++) {
		judge(&point[i], &truth[i], each);
		if (i > 0)
			timeline_join(&all, &point[i]);
	}
	sum = truth_sum(truth, POINTS);
	judge(&all, &sum, joined);
	sample_done(&sample);
}

static void intervals_enclose_the_truth(void **state)
{
	unsigned int each[3] = { 0 }, joined[3] = { 0 };

	(void)state;
	seed = 4711;
	for (unsigned int i = 0; i < ROUNDS; i++)
		one_round(each, joined);
	for (unsigned int i = 0; i < 3; i++) {
		print_message("figure %u: %u of %u, joined %u of %u\n", i, each[i],
			      ROUNDS * POINTS, joined[i], ROUNDS);
		assert_true(each[i] * 100 >= ROUNDS * POINTS * 93);
		assert_true(joined[i] * 100 >= ROUNDS * 88);	/* 3 standard errors */
	}
}

static void values_add_up_to_totals(void **state)
{
	struct truth truth = { 0 }, sum = { 0 };
	struct snapshot *snapshot;
	struct sample sample;

	(void)state;
	seed = 815;
	sample_init(&sample, false);
	for (size_t i = 0; i < POINTS; i++)
		live_through(&sample, &truth);
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	for (size_t i = 0; i < snapshot->timeline_count; i++) {
		sum.allocs += snapshot->timeline[i].alloc_count;
		sum.frees += snapshot->timeline[i].free_count;
		sum.bytes += snapshot->timeline[i].alloc_bytes;
	}
	assert_int_equal(sum.allocs, snapshot->totals.alloc_count);
	assert_int_equal(sum.frees, snapshot->totals.free_count);
	assert_int_equal(sum.bytes, snapshot->totals.alloc_bytes);
	snapshot_free(snapshot);
	sample_done(&sample);
}

/* Nothing was drawn of 20,000 bytes that passed: 0, but not for certain, and then 0 for certain. */
static void unseen_is_in_doubt(void **state)
{
	const struct timeline_point *point;
	struct sample sample;

	(void)state;
	sample_init(&sample, false);
	sample.unit = 20000 / 3.6888;
	sample.passed = 20000;
	for (int i = 0; i < 4; i++)
		sample_tick(&sample);
	point = sample.timeline.point;
	assert_int_equal(point[0].alloc_bytes, 0);
	assert_int_equal(point[0].in.alloc_bytes.low, 0);
	assert_int_equal(point[0].in.alloc_bytes.high, 20000);
	assert_true(point[0].in.free_count.high > 0);
	assert_int_equal(point[3].in.alloc_bytes.high, 0);
	assert_int_equal(point[3].in.alloc_count.high, 0);
	sample_done(&sample);
}

static void exact_is_exact(void **state)
{
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	sample_fill(&sample, 0);
	for (size_t i = 0; i < sample.timeline.count; i++) {
		const struct timeline_point *p = &sample.timeline.point[i];

		assert_int_equal(p->in.alloc_count.low, p->alloc_count);
		assert_int_equal(p->in.alloc_count.high, p->alloc_count);
		assert_int_equal(p->in.free_count.low, p->in.free_count.high);
		assert_int_equal(p->in.alloc_bytes.low, p->in.alloc_bytes.high);
		assert_int_equal(p->in.live_bytes.low, p->live_bytes);
		assert_int_equal(p->in.live_bytes.high, p->live_bytes);
	}
	sample_done(&sample);
}

/* Estimates of what lives move when it is thinned, and with them what was freed. */
static void thinning_never_frees_less_than_nothing(void **state)
{
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	for (uint64_t i = 1; i <= 4000; i++)
		sample_alloc(&sample, i * 0x1000, 16 + i % 512, 0, sample.stack[0]);
	for (uint64_t i = 1; i <= 2000; i++)
		sample_free(&sample, i * 0x1000);
	sample_tick(&sample);
	for (int i = 0; i < 6; i++) {
		live_thin(sample.live);
		sample_tick(&sample);
	}
	for (size_t i = 0; i < sample.timeline.count; i++) {
		const struct timeline_point *p = &sample.timeline.point[i];

		assert_in_range(p->free_count, 0, 4000);
		assert_in_range(p->in.free_count.high, p->free_count, 8000);
		assert_true(p->in.free_count.low <= (i == 0 ? 2000u : 0u));
	}
	sample_done(&sample);
}

/* Losses are not chance: of joined intervals they add up. */
static void losses_add_up(void **state)
{
	struct timeline_point a = { .alloc_count = 100, .bounded = true, .lost = true,
				    .in = { .alloc_count = { 100, 130 } } };
	struct timeline_point b = { .alloc_count = 50, .bounded = true,
				    .in = { .alloc_count = { 10, 90 } } };
	struct timeline_point c = a;

	(void)state;
	timeline_join(&a, &b);
	assert_int_equal(a.alloc_count, 150);
	assert_int_equal(a.in.alloc_count.low, 110);
	assert_int_equal(a.in.alloc_count.high, 220);
	assert_true(a.lost && a.bounded);
	c.lost = false;
	timeline_join(&c, &b);
	assert_int_equal(c.in.alloc_count.low, 110);
	assert_int_equal(c.in.alloc_count.high, 200);
	b.bounded = false;
	timeline_join(&c, &b);
	assert_false(c.bounded);
}

/* Before the first interval is over, the rate is that of all the time so far. */
static void rates_are_never_nothing_beside_allocations(void **state)
{
	struct snapshot_rates rates;
	struct snapshot *snapshot;
	struct sample sample;

	(void)state;
	sample_init(&sample, false);
	sample.unit = INTERVAL;
	for (uint64_t i = 1; i <= 30; i++)
		sample_alloc(&sample, i * 0x1000, 1000, INTERVAL, sample.stack[0]);
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	assert_int_equal(snapshot->timeline_count, 0);
	rates = snapshot_rates(snapshot);
	assert_true(rates.allocs.value > 0 && rates.bytes.value > 0);
	assert_true(rates.allocs.low < rates.allocs.value);
	assert_true(rates.allocs.high > rates.allocs.value);
	snapshot_free(snapshot);
	sample_tick(&sample);
	sample.now += 1000000000;
	sample_tick(&sample);
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	rates = snapshot_rates(snapshot);
	assert_true(rates.allocs.value == 0);
	assert_true(snapshot_rate_on_average(snapshot) > 0);
	snapshot_free(snapshot);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_enclose_the_truth),
		cmocka_unit_test(values_add_up_to_totals),
		cmocka_unit_test(unseen_is_in_doubt),
		cmocka_unit_test(exact_is_exact),
		cmocka_unit_test(thinning_never_frees_less_than_nothing),
		cmocka_unit_test(losses_add_up),
		cmocka_unit_test(rates_are_never_nothing_beside_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
