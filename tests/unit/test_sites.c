/* SPDX-License-Identifier: MIT */
/* test_sites.c - lifetimes, histogram, threads, allocator frames, growth, timeline, verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tests/unit/sample_session.h"

static void lifetimes_within_a_sixteenth(void **state)
{
	struct lifetimes lifetimes = { 0 };

	(void)state;
	assert_true(lifetimes_quantile(&lifetimes, 0.5) == 0);
	for (uint64_t i = 1; i <= 1000; i++)
		lifetimes_add(&lifetimes, i * 1000003, 1);
	for (double p = 0.05; p < 1; p += 0.05) {
		double truth = floor(p * 1000) * 1000003;
		double is = lifetimes_quantile(&lifetimes, p);

		assert_true(fabs(is - truth) <= truth / 16 + 1000003);
	}
	assert_int_equal(lifetimes.max, 1000003000);
	assert_true(lifetimes_quantile(&lifetimes, 1) <= 1000003000.0);
	lifetimes_done(&lifetimes);
	/* The extremes: no lifetime at all, and the longest there is. */
	lifetimes_add(&lifetimes, 0, 1);
	assert_true(lifetimes_quantile(&lifetimes, 0.9) == 0);
	lifetimes_add(&lifetimes, UINT64_MAX, 3);
	assert_true(lifetimes_quantile(&lifetimes, 0.1) == 0);
	assert_true(lifetimes_quantile(&lifetimes, 0.5) > 1e19);
	lifetimes_done(&lifetimes);
}

static void counts_distinct_threads(void **state)
{
	struct sample sample;
	struct event event = { .kind = RING_ALLOC, .size = 1 };

	(void)state;
	sample_init(&sample, true);
	for (uint64_t i = 0; i < 1000; i++) {
		event.address = 0x1000 + i * 16;
		event.thread = 0x7f0000000000 + i % 100 * 64;
		sample_apply(&sample, event, sample.stack[0]);
	}
	assert_int_equal(sites_find(sample.sites, 1)->thread_count, 100);
	sample_done(&sample);
}

struct bars {
	size_t count;
	uint64_t size[8];
	double number[8], total;
};

static void collect(void *context, uint64_t size, double number)
{
	struct bars *bars = context;

	if (bars->count < ARRAY_SIZE(bars->size)) {
		bars->size[bars->count] = size;
		bars->number[bars->count] = number;
	}
	bars->count++;
	bars->total += number;
}

static void histogram_by_size(void **state)
{
	static const uint64_t size[] = { 100000, 0, 16, 4096, 16, 4095, 16 };
	static const uint64_t wanted[] = { 0, 16, 4095, 4096, 100000 };
	struct sample sample;
	struct bars bars = { 0 };

	(void)state;
	sample_init(&sample, true);
	for (uint64_t i = 0; i < ARRAY_SIZE(size); i++)
		sample_alloc(&sample, 0x1000 + i * 0x100000, size[i], 0, sample.stack[0]);
	assert_int_equal(sites_histogram(sample.sites, collect, &bars), 5);
	assert_int_equal(bars.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(bars.size[i], wanted[i]);
	assert_true(bars.number[1] >= 3 && bars.number[1] <= 3);
	/* More sizes than can be told apart: none is forgotten, memory is bounded. */
	for (uint64_t i = 0; i < 50000; i++)
		sample_alloc(&sample, 0x10000000 + i * 16, 5000 + i * 3, 0, sample.stack[0]);
	bars = (struct bars){ 0 };
	assert_in_range(sites_histogram(sample.sites, collect, &bars), 16384, 16384 + 600);
	assert_true(bars.total >= 50007 && bars.total <= 50007);
	sample_done(&sample);
}

static void leaves_allocator_frames_out(void **state)
{
	/* Frames 0 and 1 of stack 0 are allocator code; frame 1 returns to just behind it. */
	const struct frame_range range[] = { { 1, 0x1000, 0x1001 }, { 2, 0x1f00, 0x2000 } };
	const struct frame_range off_by_one[] = { { 1, 0x0f00, 0x1000 }, { 2, 0x1f00, 0x2000 } };
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	assert_int_equal(sites_set_allocator_frames(sample.sites, range, 2), 0);
	assert_int_equal(sites_get(sample.sites, sample.stack[0], SITE_MALLOC)->skip_frames, 0);
	assert_int_equal(sites_set_allocator_frames(sample.sites, off_by_one, 2), 0);
	assert_int_equal(sites_get(sample.sites, sample.stack[0], SITE_CUSTOM)->skip_frames, 2);
	/* A mapping with such a frame is the allocator's own: not in the totals of mappings. */
	sample_apply(&sample, (struct event){ .kind = RING_MAP, .address = 0x100000,
					      .size = 0x5000 }, sample.stack[0]);
	assert_true(sites_get(sample.sites, sample.stack[0], SITE_MMAP)->allocator);
	assert_int_equal(estimate_bytes(&sites_totals(sample.sites, SITE_MMAP)->live), 0);
	assert_int_equal(estimate_bytes(&sites_allocator_maps(sample.sites)->live), 0x5000);
	sample_done(&sample);
}

static enum snapshot_verdict verdict_of(const struct sample *sample, double *ret_growth)
{
	struct snapshot *snapshot = sample_take(sample, false, SNAPSHOT_PRISTINE);
	enum snapshot_verdict verdict = SNAPSHOT_TOO_FEW;

	for (size_t i = 0; i < snapshot->site_count; i++) {
		if (snapshot->site[i].id == 1) {
			verdict = snapshot->site[i].verdict;
			*ret_growth = snapshot->site[i].growth;
		}
	}
	snapshot_free(snapshot);
	return verdict;
}

/* A tick every 10 events of a millisecond. */
static void run(struct sample *sample, int events, uint64_t size, uint64_t interval,
		bool (*frees)(int event), uint64_t *block)
{
	for (int i = 0; i < events; i++) {
		sample_alloc(sample, ++*block * 0x1000, size, interval, sample->stack[0]);
		/* An allocation elsewhere, so that nothing counts as temporary. */
		sample_alloc(sample, 0x100000000 + *block * 16, 8, interval, sample->stack[1]);
		if (frees && frees(i))
			sample_free(sample, *block * 0x1000);
		if (i % 10 == 9)
			sample_tick(sample);
	}
}

static bool always(int event)
{
	(void)event;
	return true;
}

static void growth_and_verdicts(void **state)
{
	struct sample sample;
	uint64_t block = 0;
	double growth = 0;

	(void)state;
	sample_init(&sample, true);
	/* A cache fills, then holds: growing at first, and no longer later. */
	run(&sample, 60, 500, 0, NULL, &block);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_GROWING);
	assert_true(growth > 240000 && growth < 260000);	/* 500 bytes in 2 ms */
	run(&sample, 600, 500, 0, always, &block);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_STEADY);
	assert_true(fabs(growth) <= 0);
	/* And again, after much time without: still found. */
	run(&sample, 600, 500, 0, NULL, &block);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_GROWING);
	/* 300,000 bytes since interval 32 of 126, which is 2.22 s ago. */
	assert_true(growth > 134000 && growth < 137000);
	sample_done(&sample);
}

static void three_samples_are_too_few(void **state)
{
	struct sample sample;
	uint64_t block = 0;
	double growth = 0;

	(void)state;
	sample_init(&sample, false);
	run(&sample, 3, 500, 65536, NULL, &block);
	sample_tick(&sample);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_TOO_FEW);
	run(&sample, 40, 500, 65536, NULL, &block);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_GROWING);
	sample_done(&sample);
}

/*
 * A leak beside heavy churn: a few of its blocks were recorded before the interval became coarse,
 * and none was drawn since. Nobody can say that it does not grow.
 */
static void what_is_not_drawn_is_not_steady(void **state)
{
	struct sample sample;
	uint64_t block = 0;
	double growth = 0;

	(void)state;
	sample_init(&sample, false);
	run(&sample, 7, 64, 0, NULL, &block);
	for (int i = 0; i < 40; i++)
		sample_tick(&sample);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_STEADY);
	sample.unit = 1 << 20;
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_TOO_FEW);
	assert_true(fabs(growth) <= 0);
	assert_string_equal(snapshot_verdict_name(SNAPSHOT_TOO_FEW), "too-few-samples");
	assert_string_equal(snapshot_verdict_words(SNAPSHOT_TOO_FEW), "too few samples");
	/* All is freed: as far as is known, which is not enough, either. */
	for (uint64_t i = 1; i <= block; i++)
		sample_free(&sample, i * 0x1000);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_TOO_FEW);
	sample.unit = 0;
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_FREED);
	sample_done(&sample);
}

/* Many that stay, and few that come: steady, although some are not drawn. */
static void many_samples_are_steady(void **state)
{
	struct sample sample;
	uint64_t block = 0;
	double growth = 0;

	(void)state;
	sample_init(&sample, false);
	run(&sample, 100, 500, 4096, NULL, &block);
	for (int i = 0; i < 60; i++)
		sample_tick(&sample);
	run(&sample, 100, 500, 4096, always, &block);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_STEADY);
	sample_done(&sample);
}

static void freed_and_temporary(void **state)
{
	struct sample sample;
	double growth;

	(void)state;
	sample_init(&sample, true);
	for (uint64_t i = 1; i < 10; i++) {
		sample_alloc(&sample, i * 16, 8, 0, sample.stack[0]);
		sample_free(&sample, i * 16);
	}
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_TEMPORARY);
	for (uint64_t i = 1; i < 20; i++)
		sample_alloc(&sample, i * 16, 8, 0, sample.stack[0]);
	for (uint64_t i = 1; i < 20; i++)
		sample_free(&sample, i * 16);
	assert_int_equal(verdict_of(&sample, &growth), SNAPSHOT_FREED);
	sample_done(&sample);
}

/* The last ones, too, whose additions still wait. */
static void a_snapshot_knows_all_lifetimes(void **state)
{
	struct sample sample;
	struct snapshot *snapshot;

	(void)state;
	sample_init(&sample, true);
	sample_alloc(&sample, 16, 8, 0, sample.stack[0]);
	for (uint64_t i = 2; i < 14; i++) {
		sample_alloc(&sample, i * 16, 8, 0, sample.stack[0]);
		sample_free(&sample, i * 16);
		if (i == 5)	/* its step is a new one: what waits comes first */
			sample_free(&sample, 16);
	}
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	assert_true(snapshot->site[0].lifetime_p50 > 0);
	assert_true(snapshot->site[0].lifetime_p50 * 5 < snapshot->site[0].lifetime_max);
	snapshot_free(snapshot);
	sample_done(&sample);
}

static void timeline_joins_neighbours(void **state)
{
	struct timeline timeline = { 0 };
	uint64_t allocs = 0;

	(void)state;
	for (uint64_t i = 1; i <= 3 * TIMELINE_MAX + 1; i++) {
		struct timeline_point point = { .time = (double)i, .alloc_count = 1,
						.live_bytes = i };

		assert_int_equal(timeline_add(&timeline, &point), 0);
	}
	assert_in_range(timeline.count, TIMELINE_MAX / 2, TIMELINE_MAX);
	for (size_t i = 0; i < timeline.count; i++)
		allocs += timeline.point[i].alloc_count;
	assert_int_equal(allocs, 3 * TIMELINE_MAX + 1);
	assert_int_equal(timeline.point[timeline.count - 1].live_bytes, 3 * TIMELINE_MAX + 1);
	assert_int_equal(timeline.point[0].live_bytes, timeline.stride);
	timeline_done(&timeline);
}

static void snapshots_are_sorted_and_stay(void **state)
{
	struct sample sample;
	struct snapshot *snapshot;

	(void)state;
	sample_init(&sample, true);
	sample_fill(&sample, 0);
	snapshot = sample_take(&sample, true, SNAPSHOT_PRISTINE);
	sample_alloc(&sample, 0xabc000, 1 << 20, 0, sample.stack[1]);
	assert_int_equal(snapshot->totals.live_bytes, 20064);
	assert_int_equal(snapshot->site_count, 3);
	assert_int_equal(snapshot->site[0].live_bytes, 20000);
	assert_int_equal(snapshot->site[1].kind, SITE_MMAP);
	assert_int_equal(snapshot->site[2].live_bytes, 64);
	assert_int_equal(snapshot->leak_count, 2);
	assert_int_equal(snapshot->leak[0].count, 20);
	assert_int_equal(snapshot->leak[0].address_count, SNAPSHOT_MAX_ADDRESSES);
	assert_int_equal(snapshot->leak[0].address[0], 11 * 0x1000);
	sample_done(&sample);
	assert_string_equal(snapshot->target.allocator[0].hooked[1], "free");
	snapshot_free(snapshot);
}

enum { PEAK_SITES = 12, PEAK_BLOCKS = 300 };

/* What each site had when all of them had the most, found by copying everything at each peak. */
struct peak_book {
	uint64_t live[PEAK_SITES], count[PEAK_SITES];
	uint64_t at_peak[PEAK_SITES], count_at_peak[PEAK_SITES];
	uint64_t total, peak;
};

static void book_change(struct peak_book *book, unsigned int site, uint64_t size, bool comes)
{
	book->live[site] += comes ? size : -size;
	book->count[site] += comes ? 1 : (uint64_t)-1;
	book->total += comes ? size : -size;
	if (book->total <= book->peak)
		return;
	book->peak = book->total;
	memcpy(book->at_peak, book->live, sizeof(book->live));
	memcpy(book->count_at_peak, book->count, sizeof(book->count));
}

static void assert_book(const struct sample *sample, const struct peak_book *book,
			const uint32_t *stack)
{
	struct snapshot *snapshot = sample_take(sample, false, SNAPSHOT_ATTACHED);
	size_t seen = 0;

	assert_true(snapshot->site_peaks);
	assert_int_equal(snapshot->totals.peak_live_bytes, book->peak);
	for (size_t i = 0; i < snapshot->site_count; i++) {
		for (unsigned int s = 0; s < PEAK_SITES; s++) {
			if (snapshot->site[i].stack != stack[s])
				continue;
			assert_int_equal(snapshot->site[i].at_peak_bytes, book->at_peak[s]);
			assert_int_equal(snapshot->site[i].at_peak_count, book->count_at_peak[s]);
			seen++;
		}
	}
	assert_int_equal(seen, snapshot->site_count);
	snapshot_free(snapshot);
}

static void sites_at_the_peak_of_all(void **state)
{
	struct { uint64_t size; unsigned int site; } block[PEAK_BLOCKS] = { { .size = 0 } };
	struct peak_book book = { .total = 0 };
	uint32_t stack[PEAK_SITES], random = 7;
	struct sample sample;

	(void)state;
	sample_init(&sample, true);
	for (uint32_t s = 0; s < PEAK_SITES; s++)
		stack[s] = sample_stack(&sample, 100 + s * 10, 2, 0);
	for (unsigned int step = 0; step < 20000; step++) {
		unsigned int at = (random = random * 1664525u + 1013904223u) >> 8;
		/* Full and empty by turns: many peaks, and long times without one. */
		bool comes = (step / 400 & 1) ? at % 7 == 0 : at % 7 != 0;
		uint64_t address = 0x10000 + (at >> 4) % PEAK_BLOCKS * 0x1000ull;
		unsigned int b = (at >> 4) % PEAK_BLOCKS;

		if (comes && block[b].size == 0) {
			block[b].size = 1 + at % 1000;
			block[b].site = at % PEAK_SITES;
			sample_alloc(&sample, address, block[b].size, 0, stack[block[b].site]);
			book_change(&book, block[b].site, block[b].size, true);
		} else if (!comes && block[b].size) {
			sample_free(&sample, address);
			book_change(&book, block[b].site, block[b].size, false);
			block[b].size = 0;
		}
		if (step % 500 == 0)
			assert_book(&sample, &book, stack);
	}
	assert_book(&sample, &book, stack);
	sample_done(&sample);
}

static void sizes_of_requests(void **state)
{
	struct sample sample;
	struct snapshot *snapshot;

	(void)state;
	sample_init(&sample, true);
	for (uint64_t size = 40; size <= 4000; size *= 10)
		sample_alloc(&sample, size * 16, size, 0, sample.stack[0]);
	snapshot = sample_take(&sample, false, SNAPSHOT_ATTACHED);
	assert_int_equal(snapshot->site[0].size_low, 40);
	assert_int_equal(snapshot->site[0].size_high, 4000);
	snapshot_free(snapshot);
	sample_done(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_at_the_peak_of_all),
		cmocka_unit_test(sizes_of_requests),
		cmocka_unit_test(lifetimes_within_a_sixteenth),
		cmocka_unit_test(counts_distinct_threads),
		cmocka_unit_test(histogram_by_size),
		cmocka_unit_test(leaves_allocator_frames_out),
		cmocka_unit_test(growth_and_verdicts),
		cmocka_unit_test(three_samples_are_too_few),
		cmocka_unit_test(what_is_not_drawn_is_not_steady),
		cmocka_unit_test(many_samples_are_steady),
		cmocka_unit_test(freed_and_temporary),
		cmocka_unit_test(a_snapshot_knows_all_lifetimes),
		cmocka_unit_test(timeline_joins_neighbours),
		cmocka_unit_test(snapshots_are_sorted_and_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
