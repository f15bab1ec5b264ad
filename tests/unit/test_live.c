/* SPDX-License-Identifier: MIT */
/* test_live.c - the books against a naive model: blocks, reallocs, double frees, mappings, brk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "src/base/cleanup.h"
#include "src/live/live.h"

#define PAGE 4096ull

struct fixture {
	struct stacks *stacks;
	struct sites *sites;
	struct live *live;
	uint64_t now, lost;
};

static uint64_t lost_records(void *context)
{
	return ((struct fixture *)context)->lost;
}

static void set_up_mode(struct fixture *fixture, bool exact)
{
	struct live_options options = { .exact = exact, .complete = exact, .lost = lost_records,
					.context = fixture, .settle_ticks = 100 };

	*fixture = (struct fixture){ .now = 1 };
	options.glibc_entry[3] = true;
	assert_int_equal(stacks_new(&fixture->stacks), 0);
	assert_int_equal(sites_new(fixture->stacks, &fixture->sites), 0);
	assert_int_equal(live_new(&options, fixture->sites, &fixture->live), 0);
}

static void tear_down_now(struct fixture *fixture)
{
	live_free(fixture->live);
	sites_free(fixture->sites);
	stacks_free(fixture->stacks);
}

static struct fixture fixture;

static int set_up(void **state)
{
	set_up_mode(&fixture, true);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	tear_down_now(*state);
	return 0;
}

/* One event; stack 1 unless told otherwise. */
static void apply(struct event event, uint32_t stack)
{
	event.time = ++fixture.now;
	assert_int_equal(live_apply(fixture.live, &event, stack), 0);
}

static void alloc(uint64_t thread, uint64_t address, uint64_t size, uint32_t stack)
{
	apply((struct event){ .kind = RING_ALLOC, .address = address, .size = size,
			      .thread = thread }, stack);
}

static void release(uint64_t thread, uint64_t address)
{
	apply((struct event){ .kind = RING_FREE, .address = address, .thread = thread }, 0);
}

static void realloc_begin(uint64_t thread, uint64_t address)
{
	apply((struct event){ .kind = RING_FREE, .flags = RING_F_REALLOC, .address = address,
			      .thread = thread }, 0);
}

static void realloc_done(uint64_t thread, uint64_t old, uint64_t address, uint64_t size)
{
	apply((struct event){ .kind = RING_ALLOC, .flags = RING_F_REALLOC, .address = address,
			      .old_address = old, .size = size, .thread = thread }, 2);
}

static void realloc_failed(uint64_t thread, uint64_t address)
{
	apply((struct event){ .kind = RING_UNDO, .flags = RING_F_REALLOC, .address = address,
			      .thread = thread }, 0);
}

struct figures {
	uint64_t live_count, live_bytes, alloc_count, alloc_bytes, free_count, free_bytes, peak,
		temporary;
};

static struct figures figures_of(const struct estimate *live, const struct estimate *allocated,
				 const struct estimate *freed, uint64_t peak, uint64_t temporary)
{
	return (struct figures){ estimate_count(live), estimate_bytes(live),
				 estimate_count(allocated), estimate_bytes(allocated),
				 estimate_count(freed), estimate_bytes(freed),
				 estimate_level_bytes(peak), temporary };
}

static struct figures totals(enum site_kind kind)
{
	const struct site_totals *sum = sites_totals(fixture.sites, kind);
	struct estimate freed = sites_totals_freed(sum);

	return figures_of(&sum->live, &sum->alloc, &freed, sum->peak_level, sum->temporary_count);
}

static struct figures at_site(uint32_t stack, enum site_kind kind)
{
	const struct site *site = sites_get(fixture.sites, stack, kind);
	struct estimate freed = sites_freed(site);

	return figures_of(&site->live, &site->alloc, &freed, site->peak_level,
			  site->temporary_count);
}

static void assert_figures(struct figures is, struct figures wanted)
{
	assert_int_equal(is.live_count, wanted.live_count);
	assert_int_equal(is.live_bytes, wanted.live_bytes);
	assert_int_equal(is.alloc_count, wanted.alloc_count);
	assert_int_equal(is.alloc_bytes, wanted.alloc_bytes);
	assert_int_equal(is.free_count, wanted.free_count);
	assert_int_equal(is.free_bytes, wanted.free_bytes);
	assert_int_equal(is.peak, wanted.peak);
	assert_int_equal(is.temporary, wanted.temporary);
}

static void books_blocks(void **state)
{
	(void)state;
	alloc(1, 0x1000, 100, 1);
	alloc(1, 0x2000, 50, 2);
	release(1, 0x1000);
	alloc(2, 0x1000, 10, 1);
	assert_figures(totals(SITE_MALLOC), (struct figures){ 2, 60, 3, 160, 1, 100, 150, 0 });
	assert_figures(at_site(1, SITE_MALLOC), (struct figures){ 1, 10, 2, 110, 1, 100, 100, 0 });
	assert_int_equal(sites_get(fixture.sites, 1, SITE_MALLOC)->thread_count, 2);
	assert_int_equal(live_count(fixture.live), 2);
}

static void tells_temporary(void **state)
{
	(void)state;
	alloc(1, 0x1000, 1, 1);
	alloc(2, 0x2000, 1, 1);
	release(1, 0x1000);	/* its own last one: another thread's does not count */
	alloc(1, 0x3000, 1, 1);
	release(2, 0x3000);	/* by another thread */
	alloc(1, 0x4000, 1, 1);
	alloc(1, 0x5000, 1, 1);
	release(1, 0x4000);	/* another in between */
	release(1, 0x5000);
	assert_int_equal(totals(SITE_MALLOC).temporary, 2);
}

static void realloc_that_moves(void **state)
{
	(void)state;
	alloc(1, 0x1000, 100, 1);
	realloc_begin(1, 0x1000);
	/* Still held: another thread's block on top of it makes the peak. */
	alloc(2, 0x7000, 30, 1);
	release(2, 0x7000);
	/* The old address is given to another thread before the move is told. */
	alloc(2, 0x1000, 5, 1);
	realloc_done(1, 0x1000, 0x9000, 120);
	assert_figures(totals(SITE_MALLOC), (struct figures){ 2, 125, 4, 255, 2, 130, 130, 2 });
	release(2, 0x1000);
	release(1, 0x9000);
	assert_int_equal(live_count(fixture.live), 0);
	assert_int_equal(sites_oddities(fixture.sites)->missed_free, 0);
	assert_int_equal(sites_oddities(fixture.sites)->double_free, 0);
}

static void realloc_that_stays(void **state)
{
	(void)state;
	alloc(1, 0x1000, 100, 1);
	realloc_begin(1, 0x1000);
	realloc_done(1, 0x1000, 0x1000, 200);
	assert_figures(totals(SITE_MALLOC), (struct figures){ 1, 200, 2, 300, 1, 100, 200, 1 });
	assert_int_equal(sites_oddities(fixture.sites)->missed_free, 0);
}

static void realloc_that_fails(void **state)
{
	struct figures before;

	(void)state;
	alloc(1, 0x1000, 100, 1);
	alloc(1, 0x2000, 1, 1);
	before = totals(SITE_MALLOC);
	realloc_begin(1, 0x1000);
	realloc_failed(1, 0x1000);
	assert_figures(totals(SITE_MALLOC), before);
	assert_int_equal(live_events(fixture.live).free, 0);
	release(1, 0x1000);
	assert_int_equal(totals(SITE_MALLOC).live_bytes, 1);
	/* Of a block from before the attach: nothing is known of it either way. */
	realloc_begin(1, 0x8000);
	realloc_failed(1, 0x8000);
	assert_int_equal(sites_oddities(fixture.sites)->free_unknown, 0);
	realloc_begin(1, 0x8000);
	realloc_done(1, 0x8000, 0x8000, 10);
	assert_int_equal(sites_oddities(fixture.sites)->free_unknown, 1);
}

static void realloc_to_nothing_frees(void **state)
{
	(void)state;
	alloc(1, 0x1000, 100, 1);
	realloc_begin(1, 0x1000);
	alloc(2, 0x3000, 1, 1);
	assert_int_equal(totals(SITE_MALLOC).live_bytes, 101);
	alloc(1, 0x1000, 10, 1);
	assert_int_equal(totals(SITE_MALLOC).live_bytes, 11);
	realloc_begin(1, 0x1000);
	live_finish(fixture.live);
	assert_int_equal(totals(SITE_MALLOC).live_bytes, 1);
	assert_int_equal(totals(SITE_MALLOC).free_count, 2);
}

static void counts_what_it_can_not_match(void **state)
{
	struct site_oddities *oddities = sites_oddities(fixture.sites);

	(void)state;
	release(1, 0x5000);	/* from before the attach */
	assert_int_equal(oddities->free_unknown, 1);
	release(1, 0x5000);	/* and now again: double */
	assert_int_equal(oddities->double_free, 1);
	alloc(1, 0x5000, 64, 1);
	release(1, 0x5000);
	release(1, 0x5000);
	assert_int_equal(oddities->double_free, 2);
	alloc(1, 0x6000, 64, 1);
	release(1, 0x6008);	/* inside */
	release(1, 0x6030);	/* inside */
	release(1, 0x6040);	/* behind it: may be any block */
	release(1, 0x7003);	/* misaligned */
	assert_int_equal(oddities->illegal_free, 3);
	assert_int_equal(oddities->free_unknown, 2);
	alloc(1, 0x6000, 32, 1);	/* its free was missed */
	assert_int_equal(oddities->missed_free, 1);
	assert_int_equal(totals(SITE_MALLOC).live_bytes, 32);
	assert_int_equal(totals(SITE_MALLOC).live_count, 1);
}

/* After a loss the allocation between two frees may be what was lost. */
static void claims_nothing_after_a_loss(void **state)
{
	(void)state;
	release(1, 0x5000);
	fixture.lost = 1;
	release(1, 0x5000);
	assert_int_equal(sites_oddities(fixture.sites)->double_free, 0);
	assert_int_equal(sites_oddities(fixture.sites)->free_unknown, 2);
	assert_false(live_complete(fixture.live));
}

/* Marks of freed addresses are bounded: many frees of different addresses don't pile up. */
static void forgets_old_marks(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 300000; i++) {
		alloc(1, i * 16, 8, 1);
		release(1, i * 16);
	}
	assert_int_equal(live_count(fixture.live), 0);
	release(1, 16);
	release(1, 300000 * 16);
	assert_int_equal(sites_oddities(fixture.sites)->double_free, 1);
	assert_int_equal(sites_oddities(fixture.sites)->free_unknown, 1);
}

static void knows_glibc_overhead(void **state)
{
	(void)state;
	apply((struct event){ .kind = RING_ALLOC, .address = 0x10, .size = 1, .entry = 3 }, 1);
	apply((struct event){ .kind = RING_ALLOC, .address = 0x40, .size = 24, .entry = 3 }, 1);
	apply((struct event){ .kind = RING_ALLOC, .address = 0x80, .size = 25, .entry = 3 }, 1);
	apply((struct event){ .kind = RING_ALLOC, .address = 0xc0, .size = 25, .entry = 4 }, 1);
	assert_int_equal(estimate_level_bytes(
				 sites_totals(fixture.sites, SITE_MALLOC)->overhead_level),
			 31 + 8 + 23);
	release(0, 0x10);
	assert_int_equal(estimate_level_bytes(
				 sites_totals(fixture.sites, SITE_MALLOC)->overhead_level), 31);
}

static void sampled_blocks_weigh_more(void **state)
{
	struct event event = { .kind = RING_ALLOC, .address = 0x1000, .size = 1,
			       .interval = 1000, .thread = 1 };

	(void)state;
	tear_down_now(&fixture);
	set_up_mode(&fixture, false);
	apply(event, 1);
	assert_int_equal(totals(SITE_MALLOC).live_count, 1001);	/* 1000.5 */
	event.address = 0x2000;
	event.flags = RING_F_UNTRACKED;
	apply(event, 1);
	assert_int_equal(totals(SITE_MALLOC).alloc_count, 2001);
	assert_int_equal(totals(SITE_MALLOC).live_count, 1001);
	assert_int_equal(sites_oddities(fixture.sites)->untracked, 1);
	/* A sampled realloc whose new block was not drawn: settled by time. */
	realloc_begin(1, 0x1000);
	live_settle(fixture.live, fixture.now + 50);
	assert_int_equal(totals(SITE_MALLOC).live_count, 1001);
	live_settle(fixture.live, fixture.now + 150);
	assert_int_equal(totals(SITE_MALLOC).live_count, 0);
	assert_int_equal(totals(SITE_MALLOC).free_count, 1001);
	assert_int_equal(totals(SITE_MALLOC).temporary, 0);
}

/* The model: what a program with correct books of its own would say. */
#define MODEL_BLOCKS	200
#define MODEL_STACKS	5
struct model_block {
	uint64_t size, thread, serial;
	uint32_t stack;
	bool live;
};
struct model {
	struct model_block block[MODEL_BLOCKS];
	struct figures site[MODEL_STACKS], all;
	uint64_t serial[4];
};

static void model_add(struct figures *figures, uint64_t size)
{
	figures->live_count++;
	figures->live_bytes += size;
	figures->alloc_count++;
	figures->alloc_bytes += size;
	if (figures->live_bytes > figures->peak)
		figures->peak = figures->live_bytes;
}

static void model_remove(struct figures *figures, uint64_t size, bool temporary)
{
	figures->live_count--;
	figures->live_bytes -= size;
	figures->free_count++;
	figures->free_bytes += size;
	figures->temporary += temporary;
}

static void model_alloc(struct model *model, size_t i, uint64_t thread, uint64_t size,
			uint32_t stack)
{
	model->block[i] = (struct model_block){ size, thread, ++model->serial[thread], stack,
						true };
	model_add(&model->site[stack], size);
	model_add(&model->all, size);
}

static void model_free(struct model *model, size_t i, uint64_t thread)
{
	struct model_block *block = &model->block[i];
	bool temporary = block->thread == thread && block->serial == model->serial[thread];

	model_remove(&model->site[block->stack], block->size, temporary);
	model_remove(&model->all, block->size, temporary);
	block->live = false;
}

static void step_realloc(struct model *model, size_t i, uint64_t thread, uint64_t size)
{
	uint64_t address = 0x10000 + i * 64;

	realloc_begin(thread, address);
	if (random() % 3 == 0) {
		realloc_failed(thread, address);
	} else {
		realloc_done(thread, address, address, size);
		model_free(model, i, thread);
		model_alloc(model, i, thread, size, 2);
	}
}

static void agrees_with_a_model(void **state)
{
	static struct model model;

	(void)state;
	srandom(42);
	for (int step = 0; step < 100000; step++) {
		size_t i = (size_t)random() % MODEL_BLOCKS;
		uint64_t thread = (uint64_t)random() % 4, size = (uint64_t)random() % 10000;
		uint32_t stack = (uint32_t)random() % MODEL_STACKS;

		if (!model.block[i].live) {
			alloc(thread, 0x10000 + i * 64, size, stack);
			model_alloc(&model, i, thread, size, stack);
		} else if (random() % 3) {
			release(thread, 0x10000 + i * 64);
			model_free(&model, i, thread);
		} else {
			step_realloc(&model, i, thread, size);
		}
	}
	assert_figures(totals(SITE_MALLOC), model.all);
	for (uint32_t stack = 0; stack < MODEL_STACKS; stack++)
		assert_figures(at_site(stack, SITE_MALLOC), model.site[stack]);
	assert_int_equal(sites_oddities(fixture.sites)->missed_free, 0);
	assert_int_equal(sites_oddities(fixture.sites)->free_unknown, 0);
}

static void map(uint64_t thread, uint64_t address, uint64_t size, uint32_t stack)
{
	apply((struct event){ .kind = RING_MAP, .address = address, .size = size,
			      .thread = thread }, stack);
}

static void unmap(uint64_t thread, uint64_t address, uint64_t size)
{
	apply((struct event){ .kind = RING_UNMAP, .address = address, .size = size,
			      .thread = thread }, 0);
}

static void cuts_mappings(void **state)
{
	(void)state;
	map(1, 0x100000, 10 * PAGE, 1);
	unmap(1, 0x100000 + 4 * PAGE, 2 * PAGE);	/* out of its middle */
	assert_figures(totals(SITE_MMAP),
		       (struct figures){ 1, 8 * PAGE, 1, 10 * PAGE, 0, 2 * PAGE, 10 * PAGE, 0 });
	/* MAP_FIXED over the second half and beyond. */
	map(1, 0x100000 + 6 * PAGE, 8 * PAGE, 2);
	assert_figures(at_site(1, SITE_MMAP),
		       (struct figures){ 1, 4 * PAGE, 1, 10 * PAGE, 0, 6 * PAGE, 10 * PAGE, 0 });
	unmap(1, 0x100000, 5 * PAGE - 100);	/* a page of it was no longer ours */
	assert_figures(at_site(1, SITE_MMAP),
		       (struct figures){ 0, 0, 1, 10 * PAGE, 1, 10 * PAGE, 10 * PAGE, 0 });
	assert_int_equal(sites_oddities(fixture.sites)->unmap_unknown_bytes, PAGE);
	assert_int_equal(at_site(2, SITE_MMAP).live_bytes, 8 * PAGE);
}

static void takes_back_an_unmap(void **state)
{
	struct figures before;

	(void)state;
	map(1, 0x100000, 4 * PAGE, 1);
	map(1, 0x104000, 4 * PAGE, 2);
	before = totals(SITE_MMAP);
	unmap(1, 0x102000, 100 * PAGE);
	assert_int_equal(totals(SITE_MMAP).live_bytes, 2 * PAGE);
	apply((struct event){ .kind = RING_UNMAP_UNDO, .address = 0x102000, .thread = 1 }, 0);
	assert_figures(totals(SITE_MMAP), before);
	/* Once: a second one has nothing to take back. */
	apply((struct event){ .kind = RING_UNMAP_UNDO, .address = 0x102000, .thread = 1 }, 0);
	assert_figures(totals(SITE_MMAP), before);
	assert_int_equal(sites_oddities(fixture.sites)->unmap_unknown_bytes, 0);
	unmap(1, 0x100000, 8 * PAGE);
	assert_int_equal(totals(SITE_MMAP).live_count, 0);
	assert_int_equal(totals(SITE_MMAP).live_bytes, 0);
}

static uint64_t unknown_bytes(void)
{
	return sites_oddities(fixture.sites)->unmap_unknown_bytes;
}

/* Ranges that wrap, reach beyond all memory, or cover all of it: a target may forge them. */
static void believes_no_impossible_range(void **state)
{
	static const struct { uint64_t low, bytes; } impossible[] = {
		{ PAGE, 0 - PAGE }, { PAGE, UINT64_MAX }, { 0 - PAGE, 2 * PAGE },
		{ 1ull << 63, 1ull << 63 }, { 0, 1ull << 63 }, { PAGE, 1ull << 47 },
		{ (1ull << 56) - PAGE, 2 * PAGE },
	};

	(void)state;
	map(1, 0x100000, 4 * PAGE, 1);
	for (size_t i = 0; i < ARRAY_SIZE(impossible); i++) {
		unmap(1, impossible[i].low, impossible[i].bytes);
		map(1, impossible[i].low, impossible[i].bytes, 1);
	}
	apply((struct event){ .kind = RING_BRK, .size = UINT64_MAX, .thread = 1 }, 0);
	apply((struct event){ .kind = RING_BRK, .address = UINT64_MAX, .thread = 1 }, 1);
	assert_figures(totals(SITE_MMAP),
		       (struct figures){ 1, 4 * PAGE, 1, 4 * PAGE, 0, 0, 4 * PAGE, 0 });
	assert_int_equal(unknown_bytes(), 0);
}

static void knows_how_much_can_be_unmapped(void **state)
{
	(void)state;
	map(1, 0x100000, 4 * PAGE, 1);
	unmap(1, 0, 1ull << 47);
	assert_int_equal(totals(SITE_MMAP).live_bytes, 0);
	assert_int_equal(unknown_bytes(), (1ull << 47) - 4 * PAGE);
	unmap(1, 0, 1ull << 47);	/* only so much more as a process can have */
	assert_int_equal(unknown_bytes(), 1ull << 47);
	apply((struct event){ .kind = RING_UNMAP_UNDO, .thread = 1 }, 0);
	assert_int_equal(unknown_bytes(), (1ull << 47) - 4 * PAGE);
	for (int i = 0; i < 1000; i++)
		unmap(1, 0, 1ull << 47);
	assert_int_equal(unknown_bytes(), 1ull << 47);
}

/* 64 PiB in all, as a program may ask for that never touches them: no sum wraps. */
static void adds_up_large_blocks(void **state)
{
	struct figures is;

	(void)state;
	for (int i = 0; i < 1024; i++) {
		alloc(1, 0x1000, 1ull << 46, 1);
		release(1, 0x1000);
	}
	is = totals(SITE_MALLOC);
	assert_int_equal(is.alloc_bytes, 1ull << 56);
	assert_int_equal(is.free_bytes, 1ull << 56);
	assert_int_equal(is.peak, 1ull << 46);
}

static void moves_a_mapping(void **state)
{
	(void)state;
	map(1, 0x100000, 4 * PAGE, 1);
	apply((struct event){ .kind = RING_UNMAP, .flags = RING_F_REALLOC, .address = 0x100000,
			      .size = 4 * PAGE, .thread = 1 }, 0);
	apply((struct event){ .kind = RING_MAP, .flags = RING_F_REALLOC, .address = 0x900000,
			      .old_address = 0x100000, .size = 6 * PAGE, .thread = 1 }, 2);
	assert_figures(totals(SITE_MMAP),
		       (struct figures){ 1, 6 * PAGE, 2, 10 * PAGE, 1, 4 * PAGE, 6 * PAGE, 0 });
}

static void follows_the_break(void **state)
{
	(void)state;
	apply((struct event){ .kind = RING_BRK, .address = 0x5100, .size = 0x5000 }, 1);
	apply((struct event){ .kind = RING_BRK, .address = 0x5300, .size = 0x5100 }, 2);
	assert_int_equal(totals(SITE_MMAP).live_bytes, 0x300);
	apply((struct event){ .kind = RING_BRK, .address = 0x5080, .size = 0x5300 }, 0);
	assert_int_equal(at_site(1, SITE_MMAP).live_bytes, 0x80);
	assert_int_equal(at_site(2, SITE_MMAP).live_bytes, 0);
	assert_int_equal(at_site(2, SITE_MMAP).live_count, 0);
}

/* Random mappings over 256 pages against an array of pages. */
static void mappings_agree_with_a_model(void **state)
{
	uint8_t owner[256] = { 0 };
	uint64_t pages[4] = { 0 };

	(void)state;
	srandom(7);
	for (int step = 0; step < 20000; step++) {
		uint64_t low = (uint64_t)random() % 256, count = 1 + (uint64_t)random() % 40;
		uint8_t stack = (uint8_t)(random() % 4);

		if (low + count > 256)
			count = 256 - low;
		if (stack)
			map(1, 0x100000 + low * PAGE, count * PAGE, stack);
		else
			unmap(1, 0x100000 + low * PAGE, count * PAGE);
		if (stack || random() % 4)
			memset(owner + low, stack, count);
		else
			apply((struct event){ .kind = RING_UNMAP_UNDO, .thread = 1 }, 0);
	}
	for (size_t i = 0; i < 256; i++)
		pages[owner[i]]++;
	for (uint32_t stack = 1; stack < 4; stack++)
		assert_int_equal(at_site(stack, SITE_MMAP).live_bytes, pages[stack] * PAGE);
	unmap(1, 0, 1ull << 40);
	assert_int_equal(totals(SITE_MMAP).live_bytes, 0);
	assert_int_equal(totals(SITE_MMAP).live_count, 0);
	assert_int_equal(totals(SITE_MMAP).alloc_count, totals(SITE_MMAP).free_count);
}

static void needs_stacks_only_where_something_begins(void **state)
{
	(void)state;
	assert_true(live_wants_stack(&(struct event){ .kind = RING_ALLOC }));
	assert_true(live_wants_stack(&(struct event){ .kind = RING_MAP }));
	assert_true(live_wants_stack(&(struct event){ .kind = RING_BRK, .address = 2 }));
	assert_false(live_wants_stack(&(struct event){ .kind = RING_BRK, .size = 2 }));
	assert_false(live_wants_stack(&(struct event){ .kind = RING_FREE }));
}

/* Whatever a hostile target says in whatever order: figures may be nonsense, memory is not. */
static void survives_nonsense(void **state)
{
	(void)state;
	srandom(3);
	for (int step = 0; step < 200000; step++) {
		struct event event = {
			.kind = (enum ring_kind)(1 + random() % (RING_KIND_COUNT - 1)),
			.flags = (uint8_t)random(),
			.entry = (uint16_t)(random() % RING_MAX_ENTRIES),
			.address = (uint64_t)random() % 32 * 0x800,
			.size = random() % 16 ? (uint64_t)random() % 32 * 0x800 : 1ull << 55,
			.old_address = (uint64_t)random() % 32 * 0x800,
			.thread = (uint64_t)random() % 8,
			.interval = random() % 2 ? 0 : (uint64_t)random() << (random() % 18),
			.time = (uint64_t)random(),
		};

		assert_int_equal(live_apply(fixture.live, &event, (uint32_t)random() % 16), 0);
		if (step % 1000 == 0)
			sites_tick(fixture.sites, (uint64_t)random());
	}
	live_finish(fixture.live);
}

int main(void)
{
#define WITH_BOOKS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BOOKS(books_blocks),
		WITH_BOOKS(tells_temporary),
		WITH_BOOKS(realloc_that_moves),
		WITH_BOOKS(realloc_that_stays),
		WITH_BOOKS(realloc_that_fails),
		WITH_BOOKS(realloc_to_nothing_frees),
		WITH_BOOKS(counts_what_it_can_not_match),
		WITH_BOOKS(claims_nothing_after_a_loss),
		WITH_BOOKS(forgets_old_marks),
		WITH_BOOKS(knows_glibc_overhead),
		WITH_BOOKS(sampled_blocks_weigh_more),
		WITH_BOOKS(agrees_with_a_model),
		WITH_BOOKS(cuts_mappings),
		WITH_BOOKS(takes_back_an_unmap),
		WITH_BOOKS(believes_no_impossible_range),
		WITH_BOOKS(knows_how_much_can_be_unmapped),
		WITH_BOOKS(adds_up_large_blocks),
		WITH_BOOKS(moves_a_mapping),
		WITH_BOOKS(follows_the_break),
		WITH_BOOKS(mappings_agree_with_a_model),
		WITH_BOOKS(needs_stacks_only_where_something_begins),
		WITH_BOOKS(survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
