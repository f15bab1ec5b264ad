/* SPDX-License-Identifier: MIT */
/*
 * test_evict.c - the books in less memory: evicted sites are in "other" to the byte, whoever knew
 * them by id goes on with it, and a sample of the live blocks says what lives.
 */
#include "tests/unit/live_books.h"

#include <math.h>
#include <stdlib.h>

#include "src/live/live_evict.h"
#include "src/live/pairs.h"

#define SITES	1000u
#define THREADS	3u

static int begin(void **state)
{
	(void)state;
	return books_begin(NULL, NULL);
}

/* A stack of one frame; its id is offset, as long as they come in order. */
static uint32_t stack_at(uint64_t offset)
{
	const struct frame frame = { .module = 1, .offset = offset };
	uint32_t id;

	assert_int_equal(stacks_intern(books.stacks, &frame, 1, 0, &id), 0);
	return id;
}

/*
 * Pointers to sites stay good while sites are added. realloc(p, 0) at a stack that is new makes a
 * site while the next allocation's event holds its own one, at each of the places where the
 * store of sites grows.
 */
static void sites_stay_where_they_are(void **state)
{
	enum { MANY = 5000 };
	static const struct site *site[MANY];
	uint32_t first = stack_at(1);

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		site[i] = sites_get(books.sites, first, SITE_MALLOC);
		alloc(1, 0x1000, 32, first);
		apply((struct event){ .kind = RING_FREE, .flags = RING_F_REALLOC, .thread = 1,
				      .address = 0x1000, .entry = GLIBC }, stack_at(i + 2));
	}
	alloc(1, 0x1000, 32, first);
	for (uint32_t i = 0; i < MANY; i++)
		assert_ptr_equal(site[i], site[0]);
	assert_int_equal(sites_places(books.sites), MANY + 1);
	assert_int_equal(site[0]->alloc.count, MANY + 1);
	assert_int_equal(site[0]->live.count, 1);
	for (uint32_t i = 1; i <= MANY; i++)
		assert_int_equal(sites_resizes(books.sites, sites_at(books.sites, i))
					 ->count[SITE_RESIZE_FREED] / (uint64_t)ESTIMATE_COUNT_ONE,
				 1);
}

/* Site i: i + 1 blocks of 16 bytes and more, of which every second is freed. */
static void fill_books(void)
{
	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t stack = stack_at(i + 1);

		for (uint32_t n = 0; n <= i % 50; n++) {
			uint64_t address = ((uint64_t)(i + 1) << 20) + n * 64u;

			alloc(1 + i % THREADS, address, 16 + i % 32, stack);
			if (n % 2)
				release(1 + i % THREADS, address, 0);
		}
	}
}

static uint32_t evict(uint32_t most)
{
	struct site_choice choice = { .most = most };
	uint32_t count;

	assert_int_equal(stacks_intern(books.stacks, NULL, 0, STACK_OTHER,
				       &choice.other_stack), 0);
	assert_int_equal(live_evict_sites(books.live, choice, &count), 0);
	live_keep_stacks(books.live, books.stacks);
	return count;
}

struct sums {
	uint64_t alloc, bytes, live, live_bytes, at_peak, temporary, lived, parts;
};

static struct sums add_up(void)
{
	struct sums sums = { 0 };
	size_t count;
	const struct pair *pair = pairs_all(live_pairs(books.live), &count);

	for (uint32_t i = 0; i < sites_places(books.sites); i++) {
		const struct site *site = sites_at(books.sites, i);

		assert_int_equal(sites_place(books.sites, site->id), i);
		sums.alloc += site->alloc.count;
		sums.bytes += site->alloc.bytes;
		sums.live += site->live.count;
		sums.live_bytes += site->live.bytes;
		sums.at_peak += sites_at_peak(books.sites, site).bytes;
		sums.temporary += site->temporary_count;
		sums.lived += (uint64_t)site->lifetimes.total;
	}
	for (size_t i = 0; i < count; i++) {
		assert_non_null(sites_peek(books.sites, pair[i].site));
		sums.parts += pair[i].alloc_count / (uint64_t)ESTIMATE_COUNT_ONE;
	}
	return sums;
}

static void others_have_it_all(void **state)
{
	struct sums before, after;
	struct site_totals totals;
	const struct site *other;

	(void)state;
	fill_books();
	before = add_up();
	totals = *sites_totals(books.sites, SITE_MALLOC);
	assert_int_equal(before.alloc, totals.alloc.count);
	assert_int_equal(before.at_peak * (uint64_t)ESTIMATE_BYTES_ONE, totals.peak_level);
	assert_int_equal(evict(100), SITES + 4 - 100);
	after = add_up();
	assert_memory_equal(&before, &after, sizeof(after));
	assert_memory_equal(&totals, sites_totals(books.sites, SITE_MALLOC), sizeof(totals));
	assert_int_equal(sites_evictions(books.sites).sites, SITES + 4 - 100);
	other = sites_other(books.sites, SITE_MALLOC, false);
	assert_int_equal(other->alloc.count, sites_evictions(books.sites).alloc_count);
	assert_int_equal(other->thread_count, THREADS);
	assert_int_equal(stacks_get(books.stacks, other->stack).flags, STACK_OTHER);
	assert_int_equal(other->size_low, 16);
}

/* What held least and allocated least has gone; ids of those that stay are what they were. */
static void the_cold_go(void **state)
{
	(void)state;
	fill_books();
	evict(100);
	for (uint32_t i = 0; i < SITES; i++) {
		const struct site *site = sites_peek(books.sites, i + 1);

		if (i % 50 < 10)
			assert_null(site);
		if (i % 50 == 49 && i % 32 > 16)
			assert_non_null(site);
		if (site)
			assert_int_equal(site->alloc.count, i % 50 + 1);
	}
}

/* What threads allocated at a site is what was allocated there. */
static void check_parts(void)
{
	size_t count;
	const struct pair *pair = pairs_all(live_pairs(books.live), &count);

	for (uint32_t i = 0; i < sites_places(books.sites); i++) {
		const struct site *site = sites_at(books.sites, i);
		uint64_t parts = 0;

		for (size_t at = 0; at < count; at++)
			if (pair[at].site == site->id)
				parts += pair[at].alloc_count / (uint64_t)ESTIMATE_COUNT_ONE;
		assert_int_equal(parts, site->alloc.count);
	}
}

/* The same threads go on, at sites that stay, once by turns. */
static void threads_go_on(void **state)
{
	(void)state;
	fill_books();
	check_parts();
	evict(100);
	for (uint32_t i = 0; i < SITES; i++)
		if (sites_peek(books.sites, i + 1))
			for (uint64_t n = 0; n < 4; n++)
				alloc(1 + (i + n / 2) % THREADS,
				      ((uint64_t)(i + 1) << 20) + (n + 60u) * 64u, 32, i + 1);
	check_parts();
	evict(50);
	check_parts();
}

/* Blocks of evicted sites are freed from "other"; in the end nothing lives anywhere. */
static void blocks_follow(void **state)
{
	(void)state;
	fill_books();
	evict(100);
	evict(10);
	for (uint32_t i = 0; i < SITES; i++)
		for (uint32_t n = 0; n <= i % 50; n += 2)
			release(1 + i % THREADS, ((uint64_t)(i + 1) << 20) + n * 64u, 0);
	assert_int_equal(sites_totals(books.sites, SITE_MALLOC)->live.count, 0);
	assert_int_equal(add_up().live_bytes, 0);
	assert_int_equal(sites_oddities(books.sites)->free_unknown, 0);
	for (uint32_t i = 0; i < live_threads(books.live); i++)
		assert_int_equal(live_thread_figures(books.live, i).live_count, 0);
}

/* An event with the old name of a dropped stack is "other"'s; with a new one it has a new site. */
static void dropped_stacks(void **state)
{
	uint32_t dropped, other, fresh;
	const struct site *site;

	(void)state;
	fill_books();
	evict(10);
	assert_int_equal(stacks_sweep(books.stacks, &dropped), 0);
	assert_true(dropped >= SITES - 10);
	assert_true(stacks_is_dropped(books.stacks, 1));
	other = sites_other(books.sites, SITE_MALLOC, false)->id;
	assert_int_equal(sites_get(books.sites, 1, SITE_MALLOC)->id, other);
	fresh = stack_at(1);
	site = sites_get(books.sites, fresh, SITE_MALLOC);
	assert_true(site->id > SITES);
	assert_int_equal(site->alloc.count, 0);
}

/* A second free: what it is about is known, although nearly all sites went. */
static void wrong_frees_stay(void **state)
{
	size_t count;
	const struct wrong_free *wrong;

	(void)state;
	alloc(1, 0x9000, 24, stack_at(1));
	release(1, 0x9000, stack_at(2));
	release(1, 0x9000, stack_at(3));
	for (uint32_t i = 0; i < SITES; i++)
		alloc(1, ((uint64_t)i + 1) << 20, 4096, stack_at(i + 100));
	evict(10);
	wrong = wrong_frees_all(live_wrong_frees(books.live), &count);
	assert_int_equal(count, 1);
	assert_non_null(sites_peek(books.sites, wrong->block.site));
	assert_int_equal(sites_peek(books.sites, wrong->block.site)->stack, 1);
}

/* Mappings and what was cut of them. */
static void mappings_follow(void **state)
{
	const struct event map = { .kind = RING_MAP, .thread = 1, .size = 8 * 4096 };
	const struct event unmap = { .kind = RING_UNMAP, .thread = 1, .size = 4 * 4096 };
	struct event event;

	(void)state;
	for (uint32_t i = 0; i < SITES; i++) {
		event = map;
		event.address = ((uint64_t)i + 1) << 20;
		apply(event, stack_at(i + 1));
	}
	evict(10);
	for (uint32_t i = 0; i < SITES; i++) {
		event = unmap;
		event.address = ((uint64_t)i + 1) << 20;
		apply(event, 0);
		event.kind = RING_UNMAP_UNDO;
		if (i == SITES - 1)
			apply(event, 0);
	}
	assert_int_equal(sites_totals(books.sites, SITE_MMAP)->live.bytes,
			 (SITES * 4u + 4u) * 4096u);
	assert_int_equal(sites_other(books.sites, SITE_MMAP, false)->kind, SITE_MMAP);
	assert_int_equal(add_up().live_bytes, (SITES * 4u + 4u) * 4096u);
}

/* More threads at "other" than one site may have pairs with. */
static void many_threads(void **state)
{
	struct sums before;

	(void)state;
	for (uint64_t i = 0; i < 600; i++) {
		alloc(100 + i, 0x1000000 + i * 64, 32, stack_at(1 + i % 300));
		alloc(100 + i, 0x2000000 + i * 64, 32, stack_at(1 + i % 300));
	}
	before = add_up();
	evict(5);
	assert_int_equal(add_up().parts, before.parts);
	/* each allocated twice, at one of the sites */
	assert_int_equal(sites_other(books.sites, SITE_MALLOC, false)->thread_count * 2u,
			 sites_other(books.sites, SITE_MALLOC, false)->alloc.count);
}

/* ---- blocks ---- */

static double share_off(double is, double truth)
{
	return fabs(is / truth - 1.0);
}

#define BLOCKS	40000u

static uint64_t block_size(uint32_t i)
{
	return 16 + i % 200;
}

/* Before and after it gets thin: what lives is right to a few per cent, what came to the byte. */
static void a_sample_lives(void **state)
{
	uint64_t bytes = 0, live_bytes = 0;
	const struct site_totals *totals = sites_totals(books.sites, SITE_MALLOC);
	struct estimate_interval interval;
	struct estimate freed;

	(void)state;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		alloc(1, 0x1000000ull + i * 256ull, block_size(i), 1 + i % 7);
		bytes += block_size(i);
		if (i == BLOCKS / 4 || i == BLOCKS / 2)
			live_thin(books.live);
	}
	assert_int_equal(live_thinning(books.live).times, 2);
	assert_true(live_thinning(books.live).blocks > BLOCKS / 2);
	assert_true(live_count(books.live) + live_thinning(books.live).blocks == BLOCKS);
	assert_int_equal(totals->alloc.count, BLOCKS);
	assert_int_equal(totals->alloc.bytes, bytes);
	interval = estimate_bytes_interval(&totals->live,
					   (struct estimate_unseen){ .unit = 1 });
	/* five times the half of it: by chance in one of 10^21 runs */
	assert_true(interval.low - 4 * (interval.value - interval.low) < (double)bytes);
	assert_true(interval.high + 4 * (interval.high - interval.value) > (double)bytes);
	assert_true(share_off((double)estimate_bytes(&totals->live), (double)bytes) < 0.2);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (i % 3 == 0)
			live_bytes += block_size(i);
		else
			release(1, 0x1000000ull + i * 256ull, 0);
	}
	assert_true(share_off((double)estimate_bytes(&totals->live), (double)live_bytes) < 0.2);
	freed = sites_totals_freed(totals);
	assert_true(share_off((double)estimate_bytes(&freed),
			      (double)(bytes - live_bytes)) < 0.2);
	assert_false(live_exact(books.live));
	assert_false(live_every_alloc(books.live));
	for (uint32_t i = 0; i < BLOCKS; i += 3)
		release(1, 0x1000000ull + i * 256ull, 0);
	assert_int_equal(estimate_bytes(&totals->live), 0);
	assert_int_equal(live_count(books.live), 0);
	freed = sites_totals_freed(totals);
	assert_int_equal(estimate_count(&freed), BLOCKS);
	assert_int_equal(estimate_bytes(&freed), bytes);
	assert_int_equal(live_thread_figures(books.live, 0).alloc_count, BLOCKS);
}

/* Ones that are so large that they are drawn for certain stay themselves. */
static void the_large_stay(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		alloc(1, 0x1000000ull + i * 256ull, 32, 1);
	for (uint32_t i = 0; i < 10; i++)
		alloc(1, (uint64_t)(i + 1) << 40, 1ull << 30, 2);
	live_thin(books.live);
	assert_int_equal(sites_get(books.sites, 2, SITE_MALLOC)->live.bytes, 10ull << 30);
	assert_int_equal(sites_get(books.sites, 2, SITE_MALLOC)->live.count, 10);
	assert_true(sites_get(books.sites, 1, SITE_MALLOC)->live.samples > 0);
}

/* A realloc under way when it gets thin: its old block is neither lost nor counted twice. */
static void realloc_under_way(void **state)
{
	const struct site_totals *totals = sites_totals(books.sites, SITE_MALLOC);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		alloc(1, 0x1000000ull + i * 256ull, 32, 1);
	realloc_begin(1, 0x1000000ull, 0);
	live_thin(books.live);
	realloc_done(1, 0x1000000ull, 0x9000000ull, 1 << 20);
	assert_int_equal(totals->alloc.count, 1001);
	for (uint32_t i = 1; i < 1000; i++)
		release(1, 0x1000000ull + i * 256ull, 0);
	assert_int_equal(estimate_bytes(&totals->live), 1 << 20);
	release(1, 0x9000000ull, 0);
	assert_int_equal(estimate_bytes(&totals->live), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sites_stay_where_they_are, begin, books_end),
		cmocka_unit_test_setup_teardown(others_have_it_all, begin, books_end),
		cmocka_unit_test_setup_teardown(the_cold_go, begin, books_end),
		cmocka_unit_test_setup_teardown(threads_go_on, begin, books_end),
		cmocka_unit_test_setup_teardown(blocks_follow, begin, books_end),
		cmocka_unit_test_setup_teardown(dropped_stacks, begin, books_end),
		cmocka_unit_test_setup_teardown(wrong_frees_stay, begin, books_end),
		cmocka_unit_test_setup_teardown(mappings_follow, begin, books_end),
		cmocka_unit_test_setup_teardown(many_threads, begin, books_end),
		cmocka_unit_test_setup_teardown(a_sample_lives, begin, books_end),
		cmocka_unit_test_setup_teardown(the_large_stay, begin, books_end),
		cmocka_unit_test_setup_teardown(realloc_under_way, begin, books_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
