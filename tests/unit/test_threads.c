/* SPDX-License-Identifier: MIT */
/*
 * test_threads.c - what the books say of threads: each one's part in every site, who freed whose
 * blocks, within which bounds; what became of reallocs.
 */
#include "tests/unit/live_books.h"

#include "src/live/pairs.h"
#include "src/live/thread_table.h"

#define REALLOC	5u	/* an entry of realloc's shape */
#define THREAD	0x7f0000000000ull

static const struct ticks ticks = { .tsc0 = 0, .hz = 1e9 };

static int begin(void **state)
{
	(void)state;
	return books_begin(NULL, NULL);
}

/* To be freed. */
static struct thread_table *table_now(void)
{
	struct thread_table *table = NULL;

	assert_int_equal(thread_table_take(books.live, &ticks, NULL, 0, &table), 0);
	return table;
}

static const struct thread_part *part_of(const struct thread_table *table, uint32_t site,
					 uint32_t thread)
{
	for (size_t i = 0; i < table->part_count; i++)
		if (table->part[i].site == site && table->part[i].thread == thread)
			return &table->part[i];
	fail_msg("thread %u has no part in site %u", thread, site);
	return NULL;
}

static void expect_part(const struct thread_part *part, uint64_t calls, uint64_t bytes,
			uint64_t live)
{
	assert_int_equal(part->alloc_count, calls);
	assert_int_equal(part->alloc_bytes, bytes);
	assert_int_equal(part->live_count, live);
	assert_int_equal(part->free_count, calls - live);
}

static void threads_have_their_parts(void **state)
{
	struct thread_table *table;

	(void)state;
	alloc(THREAD, 0x1000, 100, 1);
	alloc(THREAD, 0x2000, 50, 2);
	alloc(THREAD + 64, 0x3000, 30, 1);
	alloc(THREAD + 64, 0x4000, 30, 1);
	release(THREAD + 64, 0x1000, 0);	/* of the other's */
	release(THREAD + 64, 0x4000, 0);	/* its own, at once */
	release(THREAD, 0x9000, 0);		/* nobody's: not booked */
	table = table_now();
	assert_int_equal(table->total, 2);
	assert_int_equal(table->part_count, 3);
	expect_part(part_of(table, 1, 1), 1, 100, 0);
	expect_part(part_of(table, 2, 1), 1, 50, 1);
	expect_part(part_of(table, 1, 2), 2, 60, 1);
	assert_int_equal(part_of(table, 1, 2)->temporary_count, 1);
	assert_int_equal(table->row[0].number, 1);
	assert_int_equal(table->row[0].alloc_bytes, 150);
	assert_int_equal(table->row[0].live_bytes, 50);
	assert_int_equal(table->row[0].free_count, 0);
	assert_int_equal(table->row[1].free_count, 2);
	assert_int_equal(table->row[1].free_bytes, 130);
	assert_int_equal(table->row[1].freed_others, 1);
	assert_int_equal(table->row[1].freed_others_bytes, 100);
	assert_int_equal(table->handover_count, 1);
	assert_int_equal(table->handover[0].owner, 1);
	assert_int_equal(table->handover[0].freer, 2);
	assert_int_equal(table->handover[0].bytes, 100);
	thread_table_free(table);
}

/* What is lost sight of is neither live nor freed, of a thread as of a site. */
static void lost_blocks_are_nobodys(void **state)
{
	struct thread_table *table;

	(void)state;
	alloc(THREAD, 0x1000, 100, 1);
	alloc(THREAD, 0x2000, 50, 1);
	release(THREAD, 0x2000, 0);
	live_lose_track(books.live, ++books.now);
	alloc(THREAD, 0x3000, 7, 1);
	table = table_now();
	assert_int_equal(table->row[0].live_bytes, 7);
	assert_int_equal(table->row[0].free_count, 1);
	assert_int_equal(part_of(table, 1, 1)->live_bytes, 7);
	assert_int_equal(part_of(table, 1, 1)->free_count, 1);
	thread_table_free(table);
}

/* More threads at a site than are told apart: sums stay whole. */
static void threads_beyond_the_bound_are_one(void **state)
{
	struct thread_table *table;
	uint64_t calls = 0, live = 0;

	(void)state;
	for (uint64_t i = 0; i < PAIRS_MAX_SITE + 100; i++)
		for (uint64_t n = 0; n < 2; n++)
			alloc(THREAD + i * 64, 0x100000 + (2 * i + n) * 64, 10, 1);
	for (uint64_t i = 0; i < PAIRS_MAX_SITE + 100; i++)
		release(THREAD + i * 64, 0x100000 + 2 * i * 64, 0);
	table = table_now();
	assert_int_equal(table->total, PAIRS_MAX_SITE + 100);
	assert_int_equal(table->part_count, PAIRS_MAX_SITE + 1);
	expect_part(part_of(table, 1, 0), 200, 2000, 100);
	for (size_t i = 0; i < table->part_count; i++) {
		calls += table->part[i].alloc_count;
		live += table->part[i].live_count;
	}
	assert_int_equal(calls, 2 * (PAIRS_MAX_SITE + 100));
	assert_int_equal(live, PAIRS_MAX_SITE + 100);
	assert_int_equal(table->handover_count, 0);	/* each freed its own */
	thread_table_free(table);
}

/* So do those of who freed whose, in the books and in the table. */
static void handovers_beyond_the_bound_are_one(void **state)
{
	const uint64_t side = 140;	/* more pairs than HANDOVERS_MAX */
	struct thread_table *table;
	uint64_t count = 0, bytes = 0;

	(void)state;
	for (uint64_t owner = 0; owner < side; owner++)
		for (uint64_t freer = 0; freer < side; freer++) {
			alloc(THREAD + owner * 64, 0x1000, 1 + owner, 1);
			release(THREAD + freer * 64, 0x1000, 0);
		}
	table = table_now();
	assert_int_equal(table->handover_count, THREAD_TABLE_HANDOVERS);
	assert_int_equal(table->handover[table->handover_count - 1].owner, 0);
	for (size_t i = 0; i < table->handover_count; i++) {
		count += table->handover[i].count;
		bytes += table->handover[i].bytes;
	}
	assert_int_equal(count, side * (side - 1));
	assert_int_equal(bytes, (side - 1) * side * (side + 1) / 2);
	thread_table_free(table);
}

/* ---- reallocs ---- */

static void resize_begin(uint64_t address, uint64_t size)
{
	apply((struct event){ .kind = RING_FREE, .flags = RING_F_REALLOC, .address = address,
			      .size = size, .thread = THREAD, .entry = REALLOC }, size ? 0 : 4);
}

static void resize(uint64_t old, uint64_t address, uint64_t size, uint32_t stack)
{
	if (old)
		resize_begin(old, size);
	apply((struct event){ .kind = RING_ALLOC, .flags = old ? RING_F_REALLOC : 0,
			      .address = address, .old_address = old, .size = size,
			      .thread = THREAD, .entry = REALLOC }, stack);
}

static void expect_resizes(uint32_t stack, const struct site_resizes *wanted)
{
	const uint64_t one = (uint64_t)ESTIMATE_COUNT_ONE;
	const struct site *site = sites_get(books.sites, stack, SITE_MALLOC);
	const struct site_resizes *is = sites_resizes(books.sites, site);

	assert_non_null(is);
	for (int i = 0; i < SITE_RESIZES; i++)
		assert_int_equal(is->count[i], wanted->count[i] * one);
	for (int i = 0; i < SITE_RESIZES_KNOWN; i++)
		assert_int_equal(is->known[i], wanted->known[i] * one);
	assert_int_equal(estimate_level_bytes(is->copied_bytes), wanted->copied_bytes);
}

static void begin_reallocs(void)
{
	live_free(books.live);
	books.options.realloc_entry[REALLOC] = true;
	assert_int_equal(live_new(&books.options, books.sites, &books.live), 0);
}

static void reallocs_by_what_became_of_them(void **state)
{
	(void)state;
	begin_reallocs();
	resize(0, 0x1000, 100, 1);
	resize(0x1000, 0x1000, 120, 1);
	resize(0x1000, 0x1000, 120, 1);
	resize(0x1000, 0x1000, 20, 1);
	resize(0x1000, 0x2000, 500, 1);		/* 20 bytes */
	resize(0x2000, 0x3000, 50, 1);		/* 50 bytes */
	resize(0x7000, 0x7000, 50, 1);		/* from before the attach */
	resize(0x8000, 0x9000, 50, 1);
	alloc(THREAD, 0xa000, 10, 1);		/* no realloc */
	expect_resizes(1, &(struct site_resizes){
		.count = { [SITE_FROM_NULL] = 1, [SITE_IN_PLACE] = 4, [SITE_MOVED] = 3 },
		.known = { [SITE_GROWN] = 1, [SITE_SAME] = 1, [SITE_SHRUNK] = 1,
			   [SITE_COPIED] = 2 }, .copied_bytes = 70 });
	resize_begin(0x3000, 9999);
	apply((struct event){ .kind = RING_UNDO, .flags = RING_F_REALLOC | RING_F_STACK,
			      .address = 0x3000, .size = 9999, .thread = THREAD,
			      .entry = REALLOC }, 3);
	apply((struct event){ .kind = RING_UNDO, .flags = RING_F_REALLOC | RING_F_STACK,
			      .size = 9999, .thread = THREAD, .entry = REALLOC }, 3);
	resize_begin(0x3000, 0);
	live_finish(books.live);
	expect_resizes(3, &(struct site_resizes){ .count = { [SITE_RESIZE_FAILED] = 2 } });
	expect_resizes(4, &(struct site_resizes){ .count = { [SITE_RESIZE_FREED] = 1 } });
	assert_int_equal(wrong_count(), 0);
}

/* musl's realloc(p, 0) gives a block: that is a call that made it smaller. */
static void realloc_to_nothing_that_gives_a_block(void **state)
{
	(void)state;
	begin_reallocs();
	resize(0, 0x1000, 100, 1);
	resize(0x1000, 0x1000, 0, 1);
	live_finish(books.live);
	expect_resizes(1, &(struct site_resizes){
		.count = { [SITE_FROM_NULL] = 1, [SITE_IN_PLACE] = 1 },
		.known = { [SITE_SHRUNK] = 1 } });
}

/* glibc's realloc maps an arena before it gives up, and a large block by mmap. */
static void mappings_do_not_end_a_realloc(void **state)
{
	(void)state;
	begin_reallocs();
	resize(0, 0x1000, 100, 1);
	resize_begin(0x1000, 1ull << 40);
	apply((struct event){ .kind = RING_MAP, .address = 0x100000, .size = 0x21000,
			      .thread = THREAD }, 6);
	apply((struct event){ .kind = RING_UNDO, .flags = RING_F_REALLOC | RING_F_STACK,
			      .address = 0x1000, .thread = THREAD, .entry = REALLOC }, 3);
	assert_int_equal(live_count(books.live), 1);
	resize_begin(0x1000, 200000);
	apply((struct event){ .kind = RING_MAP, .address = 0x200000, .size = 0x40000,
			      .thread = THREAD }, 6);
	apply((struct event){ .kind = RING_ALLOC, .flags = RING_F_REALLOC, .address = 0x200010,
			      .old_address = 0x1000, .size = 200000, .thread = THREAD,
			      .entry = REALLOC }, 2);
	release(THREAD, 0x200010, 0);
	assert_int_equal(live_count(books.live), 0);
	expect_resizes(2, &(struct site_resizes){ .count = { [SITE_MOVED] = 1 },
						  .known = { [SITE_COPIED] = 1 },
						  .copied_bytes = 100 });
	assert_int_equal(wrong_count(), 0);
}

/* An event of a sampled session whose blocks are drawn once in two intervals. */
static void sampled(struct event event, uint32_t stack)
{
	event.interval = event.kind == RING_ALLOC ? 1000 : 0;
	event.thread = THREAD;
	apply(event, stack);
}

static void sampled_realloc(uint64_t old, uint64_t address, uint64_t size)
{
	sampled((struct event){ .kind = RING_ALLOC, .flags = RING_F_REALLOC, .address = address,
				.old_address = old, .size = size, .entry = REALLOC }, 1);
}

/*
 * An old block that was drawn stands for others as well as the new one does. An announcement that
 * nothing followed does not explain a later call, however alike, unless it would have been drawn.
 */
static void sampled_reallocs(void **state)
{
	const struct site_resizes *is;

	(void)state;
	books.options.exact = false;
	begin_reallocs();
	sampled((struct event){ .kind = RING_ALLOC, .address = 0x1000, .size = 500 }, 2);
	resize_begin(0x1000, 600);	/* and its block was not drawn: */
	sampled_realloc(0x1000, 0x1000, 600);
	sampled((struct event){ .kind = RING_ALLOC, .address = 0x2000, .size = 500 }, 2);
	resize_begin(0x2000, 600);
	sampled_realloc(0x2000, 0x2000, 9000);
	sampled((struct event){ .kind = RING_ALLOC, .address = 0x3000, .size = 500 }, 2);
	resize_begin(0x3000, 9000);
	sampled_realloc(0x3000, 0x5000, 9000);
	is = sites_resizes(books.sites, sites_get(books.sites, 1, SITE_MALLOC));
	assert_int_equal(estimate_level_count(is->count[SITE_IN_PLACE]), 3);	/* 2.22 + 1 */
	assert_int_equal(estimate_level_count(is->count[SITE_MOVED]), 1);
	assert_int_equal(is->known[SITE_GROWN] + is->known[SITE_SHRUNK] + is->known[SITE_SAME], 0);
	assert_int_equal(estimate_level_count(is->known[SITE_COPIED] * 100), 254);
	assert_int_equal(estimate_level_bytes(is->copied_bytes), 1271);	/* 500 / (1 - e^-0.5) */
	books.options.exact = true;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, books_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_have_their_parts),
		TEST(lost_blocks_are_nobodys),
		TEST(threads_beyond_the_bound_are_one),
		TEST(handovers_beyond_the_bound_are_one),
		TEST(reallocs_by_what_became_of_them),
		TEST(realloc_to_nothing_that_gives_a_block),
		TEST(mappings_do_not_end_a_realloc),
		TEST(sampled_reallocs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
