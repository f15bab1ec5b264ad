/* SPDX-License-Identifier: MIT */
/*
 * test_site_moves.c - what sampled blocks did since windows began, against all of them looked at
 * once more, one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/live/sites_private.h"
#include "tests/unit/roll.h"

#define SITES		3u
#define BLOCKS		4000u
#define INTERVAL	4096u
#define NEVER		UINT64_MAX

struct block {
	uint32_t site;
	uint64_t size, born, freed;	/* times; NEVER: it lives */
};
struct model {
	struct stacks *stacks;
	struct sites *sites;
	uint64_t now, window, before;	/* when the windows began */
	struct block block[BLOCKS];
	uint32_t count;
};

static void begin(struct model *m)
{
	*m = (struct model){ .now = 1 };
	assert_int_equal(stacks_new(&m->stacks), 0);
	assert_int_equal(sites_new(m->stacks, &m->sites), 0);
	for (uint64_t i = 0; i < SITES; i++) {
		struct frame frame = { .offset = 16 + i };
		uint32_t stack;

		assert_int_equal(stacks_intern(m->stacks, &frame, 1, 0, &stack), 0);
		assert_int_equal(sites_get(m->sites, stack, SITE_MALLOC)->id, i + 1);
	}
}

static void end(struct model *m)
{
	sites_free(m->sites);
	stacks_free(m->stacks);
}

/* Sizes of some intervals are there for certain: those are none of the moves. */
static struct site_change change_of(const struct block *block, uint64_t time)
{
	return (struct site_change){
		.term = estimate_term(block->size, INTERVAL), .time = time, .born = block->born,
	};
}

static void come(struct model *m)
{
	struct block *block = &m->block[m->count++];
	struct site_change change;

	*block = (struct block){ (uint32_t)roll(SITES) + 1, 1 + roll(roll(8) ? 500 : 1 << 20),
				 m->now, NEVER };
	change = change_of(block, m->now);
	sites_alloc(m->sites, sites_find(m->sites, block->site), &change);
}

static void go(struct model *m, struct block *block)
{
	struct site_change change = change_of(block, m->now);

	if (block->freed != NEVER)
		return;
	block->freed = m->now;
	sites_release(m->sites, sites_find(m->sites, block->site), &change);
}

static void tick(struct model *m)
{
	uint64_t window = m->sites->window_begin;

	sites_tick(m->sites, ++m->now);	/* later than what was booked */
	if (m->sites->window_begin != window) {
		m->before = m->window;
		m->window = m->now;
	}
}

/* Did the block come in a window [begin, end), and live at its end? */
static bool came(const struct block *block, uint64_t begin_at, uint64_t end_at)
{
	return block->born >= begin_at && block->born < end_at && block->freed >= end_at;
}

static bool went(const struct block *block, uint64_t begin_at, uint64_t end_at)
{
	return block->born < begin_at && block->freed >= begin_at && block->freed < end_at;
}

static void assert_sum(const struct estimate *is, const struct estimate *truth)
{
	assert_int_equal(is->count, 0);
	assert_int_equal(is->samples, truth->samples);
	assert_int_equal(is->sampled_bytes, truth->sampled_bytes);
	assert_int_equal(is->weighted_count, truth->weighted_count);
	assert_int_equal(is->weighted_bytes, truth->weighted_bytes);
}

static void check(const struct model *m, uint32_t first, uint32_t last, uint32_t at)
{
	struct site_moves truth = { .in = { .count = 0 } };
	struct site_moves is = site_moves_sum(m->sites, sites_peek(m->sites, at));

	for (uint32_t i = 0; i < m->count; i++) {
		const struct block *b = &m->block[i];
		struct estimate_term term = estimate_term(b->size, INTERVAL);

		if (b->site < first || b->site > last || !term.weighted_count)
			continue;
		if (came(b, m->window, NEVER))
			estimate_add(&truth.in, &term);
		if (came(b, m->before, m->window))
			estimate_add(&truth.in, &term);
		if (went(b, m->window, NEVER))
			estimate_add(&truth.out, &term);
		if (went(b, m->before, m->window))
			estimate_add(&truth.out, &term);
	}
	assert_sum(&is.in, &truth.in);
	assert_sum(&is.out, &truth.out);
}

static void run(struct model *m)
{
	while (m->count < BLOCKS) {
		m->now++;
		if (roll(3))
			come(m);
		else if (m->count)
			go(m, &m->block[roll(m->count)]);
		if (roll(40) == 0)
			tick(m);
		if (roll(100) == 0)
			check(m, 1, 1, 1);
	}
}

static void test_windows(void **state)
{
	struct model m;

	(void)state;
	begin(&m);
	run(&m);
	assert_true(m.before > 0);
	for (uint32_t i = 1; i <= SITES; i++)
		check(&m, i, i, i);
	end(&m);
}

static void test_merged(void **state)
{
	struct model m;
	struct site *site;

	(void)state;
	begin(&m);
	run(&m);
	site = site_placed(m.sites, 0);	/* the first of those in one chunk */
	site_moves_merge(m.sites, &site[0], &site[1]);
	check(&m, 1, 2, 1);
	assert_int_equal(site[1].moves, 0);
	site_moves_merge(m.sites, &site[1], &site[0]);	/* who had none takes them */
	check(&m, 1, 2, 2);
	site[2].moves = SITE_MOVES_UNKNOWN;
	site_moves_merge(m.sites, &site[1], &site[2]);
	assert_int_equal(site_moves_sum(m.sites, &site[1]).in.samples, 0);
	end(&m);
}

/* A block that was certain is thinned, and another one that was drawn not any more at all. */
static void test_thinned(void **state)
{
	const struct estimate_term drawn = estimate_term(100, INTERVAL);
	const struct estimate_term certain = estimate_term(100, 0);
	struct model m;
	struct site *site;

	(void)state;
	begin(&m);
	site = site_placed(m.sites, 0);	/* the first of those in one chunk */
	site_moves_thin(m.sites, site, &certain, NULL);
	assert_int_equal(site->moves, 0);
	site_moves_thin(m.sites, site, &certain, &drawn);
	site_moves_thin(m.sites, site, &certain, &drawn);
	assert_int_equal(site_moves_sum(m.sites, site).in.count, 0);
	assert_int_equal(site_moves_sum(m.sites, site).in.samples, 2);
	site_moves_thin(m.sites, site, &drawn, NULL);
	site_moves_thin(m.sites, site, &drawn, NULL);
	assert_int_equal(site_moves_sum(m.sites, site).in.samples, 0);
	assert_int_equal(site_moves_sum(m.sites, site).in.weighted_bytes, 0);
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_thinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
