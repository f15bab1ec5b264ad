/* SPDX-License-Identifier: MIT */
/*
 * fuzz_books.c - events in any order into the books: allocations, frees, reallocs that succeed,
 * fail, or shrink to nothing at stacks that are new, mappings that overlap, munmaps that fail; with
 * evictions of sites and stacks, thinning and gaps in between.
 *
 * Totals, peaks and every site must be what a simple model says (books_model.h), for as long as
 * the session is exact. Whatever happens, sites, pairs, threads and live blocks add up to the
 * totals.
 *
 * Input: a byte (how the session is), then commands: what (4 bits), by which thread (2), of which
 * kind of block (1), a variant (1); most take an address, a stack or a size.
 */
#include <stdlib.h>
#include <string.h>

#include "src/live/live_evict.h"
#include "src/live/pairs.h"
#include "tests/fuzz/books_model.h"

#define FIRST_ADDRESS	0x10000ull
#define FIRST_PAGE	0x7f0000000000ull
#define PAGE_BYTES	4096ull
#define GLIBC		3u	/* an entry of each kind */
#define CUSTOM		5u
#define LEAST_BYTES	(1ull << 20)	/* of memory for live_set_memory() */
#define JUMP		1000000ull	/* of the clock */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

struct fuzz {
	struct input input;
	struct stacks *stacks;
	struct sites *sites;
	struct live *live;
	uint32_t stack[MODEL_STACKS];	/* ids, 0: not yet */
	uint64_t now, lost, blocks;
	bool sampled;
	bool totals_known;		/* the model says what was allocated, */
	bool lives_known;		/* what lives, */
	bool sites_known;		/* and where */
};
static struct model model;

struct command {
	unsigned int what;
	uint32_t thread;
	enum site_kind kind;
	bool variant;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	bytes = bytes < input->size ? bytes : input->size;
	memcpy(&value, input->data, bytes);
	input->data += bytes;
	input->size -= bytes;
	return value;
}

/* ---- the session ---- */

static uint64_t lost(void *context)
{
	return ((struct fuzz *)context)->lost;
}

/* An allocator's opinion of an address, as good as any. */
static enum wrong_free_reason place(void *context, const struct event *event)
{
	(void)context;
	return (enum wrong_free_reason)(event->address / 16 % (WRONG_FREE_FREE + 1));
}

static void begin(struct fuzz *f)
{
	uint64_t how = take(&f->input, 1);
	struct live_options options = {
		.exact = !(how & 1), .complete = !(how & 2), .lost = lost, .context = f,
		.place = how & 4 ? place : NULL, .free_stacks = how & 8, .settle_ticks = JUMP,
	};

	options.glibc_entry[GLIBC] = true;
	options.custom_entry[CUSTOM] = true;
	memset(&model, 0, sizeof(model));
	f->now = 1;
	f->sampled = !options.exact;
	f->totals_known = f->lives_known = f->sites_known = options.exact;
	must(stacks_new(&f->stacks) == 0 && sites_new(f->stacks, &f->sites) == 0 &&
	     live_new(&options, f->sites, &f->live) == 0);
	if (how & 16)
		live_set_memory(f->live, LEAST_BYTES);
}

static void end(struct fuzz *f)
{
	live_free(f->live);
	sites_free(f->sites);
	stacks_free(f->stacks);
}

/* One that was dropped is booked at "other", until it is learned anew. */
static uint32_t stack_id(struct fuzz *f, uint32_t stack, bool again)
{
	const struct frame frame = { .module = 1, .offset = stack };

	if (!f->stack[stack] || (again && stacks_is_dropped(f->stacks, f->stack[stack])))
		must(stacks_intern(f->stacks, &frame, 1, 0, &f->stack[stack]) == 0);
	return f->stack[stack];
}

/* ---- do sums agree? ---- */

static void add(struct model_sum *sum, const struct estimate *alloc, const struct estimate *live)
{
	sum->alloc_count += alloc->count * (uint64_t)ESTIMATE_COUNT_ONE + alloc->weighted_count;
	sum->alloc_bytes += estimate_level(alloc);
	sum->live_count += live->count * (uint64_t)ESTIMATE_COUNT_ONE + live->weighted_count;
	sum->live_bytes += estimate_level(live);
}

static bool equal(const struct model_sum *a, const struct model_sum *b)
{
	return a->alloc_count == b->alloc_count && a->alloc_bytes == b->alloc_bytes &&
	       a->live_count == b->live_count && a->live_bytes == b->live_bytes;
}

static void add_sites(const struct fuzz *f, struct model_sum *sum)
{
	for (uint32_t i = 0; i < sites_places(f->sites); i++) {
		const struct site *site = sites_at(f->sites, i);

		must(site == sites_peek(f->sites, site->id) &&
		     sites_place(f->sites, site->id) == i);
		add(&sum[site->kind], &site->alloc, &site->live);
	}
}

static void add_pairs(const struct fuzz *f, struct model_sum *sum)
{
	size_t count;
	const struct pair *pair = pairs_all(live_pairs(f->live), &count);

	for (size_t i = 0; i < count; i++) {
		const struct site *site = sites_peek(f->sites, pair[i].site);

		must(site != NULL);
		sum[site->kind].alloc_count += pair[i].alloc_count;
		sum[site->kind].alloc_bytes += pair[i].alloc_bytes;
		sum[site->kind].live_count += pair[i].alloc_count - pair[i].free_count -
					      pair[i].lost_count;
		sum[site->kind].live_bytes += pair[i].alloc_bytes - pair[i].free_bytes -
					      pair[i].lost_bytes;
	}
}

static void add_totals(const struct fuzz *f, struct model_sum *sum)
{
	for (int kind = 0; kind < MODEL_KINDS; kind++) {
		const struct site_totals *totals = sites_totals(f->sites, (enum site_kind)kind);

		add(&sum[kind], &totals->alloc, &totals->live);
	}
}

static void count_block(void *context, const struct live_block *block)
{
	struct fuzz *f = context;

	must(sites_peek(f->sites, block->site) && block->thread < live_threads(f->live));
	f->blocks++;
}

static void must_add_up(struct fuzz *f)
{
	struct model_sum sites[MODEL_KINDS] = { 0 }, totals[MODEL_KINDS] = { 0 };
	struct model_sum pairs[MODEL_KINDS] = { 0 };

	add_sites(f, sites);
	add_pairs(f, pairs);
	add_totals(f, totals);
	for (int kind = 0; kind < MODEL_KINDS; kind++)
		must(equal(&sites[kind], &totals[kind]));
	/* Of a block that is not kept its pair does not know. */
	for (int kind = 0; kind < MODEL_KINDS && !live_thinning(f->live).times; kind++)
		must(kind == SITE_MMAP || equal(&pairs[kind], &totals[kind]));
	f->blocks = 0;
	live_each(f->live, count_block, f);
	must(f->blocks == live_count(f->live));
	for (uint32_t i = 0; i < live_threads(f->live); i++)
		must(live_thread_figures(f->live, i).last <= f->now);
}

/* ---- does the model agree? ---- */

static struct model_sum whole(const struct estimate *alloc, const struct estimate *live)
{
	return (struct model_sum){ alloc->count, alloc->bytes, live->count, live->bytes };
}

static void compare_totals(const struct fuzz *f, enum site_kind kind)
{
	const struct site_totals *totals = sites_totals(f->sites, kind);
	struct model_sum is = whole(&totals->alloc, &totals->live);

	if (!f->lives_known) {
		is.live_count = model.total[kind].live_count;
		is.live_bytes = model.total[kind].live_bytes;
	}
	must(equal(&is, &model.total[kind]));
	if (f->lives_known)
		must(estimate_level_bytes(totals->peak_level) == model.peak_bytes[kind]);
}

static void compare_sites(const struct fuzz *f)
{
	static uint32_t of_id[2 * MODEL_STACKS];
	uint64_t booked = 0, allocs = 0;

	memset(of_id, 0, sizeof(of_id));
	for (uint32_t i = 0; i < MODEL_STACKS; i++)
		of_id[f->stack[i]] = i;
	for (uint32_t i = 0; i < sites_places(f->sites); i++) {
		const struct site *site = sites_at(f->sites, i);
		struct model_sum is = whole(&site->alloc, &site->live);

		must(equal(&is, &model.at[site->kind][of_id[site->stack]]));
		booked += site->alloc.count;
	}
	for (int kind = 0; kind < MODEL_KINDS; kind++)
		allocs += model.total[kind].alloc_count;
	must(booked == allocs);
}

/* Mappings are what a process can have, whatever the target has said. */
static void must_be_possible(const struct fuzz *f)
{
	uint64_t mapped = estimate_bytes(&sites_totals(f->sites, SITE_MMAP)->live) +
			  estimate_bytes(&sites_allocator_maps(f->sites)->live);

	must(mapped <= RING_SIZE_LIMIT);
	must(sites_oddities_peek(f->sites)->unmap_unknown_bytes <= 1ull << 47);
}

static void compare(struct fuzz *f)
{
	must_add_up(f);
	for (int kind = 0; f->totals_known && kind < MODEL_KINDS; kind++)
		compare_totals(f, (enum site_kind)kind);
	if (f->sites_known)
		compare_sites(f);
	if (f->lives_known)
		must(sites_oddities_peek(f->sites)->unmap_unknown_bytes == model.unknown_bytes);
	must_be_possible(f);
}

/* ---- events ---- */

static void apply(struct fuzz *f, struct event event, uint32_t thread, uint32_t stack)
{
	event.time = ++f->now;
	event.thread = 0x1000 + thread * 64;
	must(live_apply(f->live, &event, stack) == 0);
}

static uint64_t block_address(enum site_kind kind, uint32_t address)
{
	uint64_t at = FIRST_ADDRESS + address * 16ull;

	return kind == SITE_CUSTOM ? ring_custom_block(at) : at;
}

/* The event of the books that is the model's. */
static struct event event_of(const struct fuzz *f, enum ring_kind kind,
			     const struct model_event *event)
{
	return (struct event){
		.kind = kind, .address = block_address(event->kind, event->address),
		.old_address = block_address(event->kind, event->address),
		.size = event->size, .entry = event->kind == SITE_CUSTOM ? CUSTOM : GLIBC,
		.interval = f->sampled ? 1u << (event->size % 16) : 0,
	};
}

static struct model_event take_event(struct fuzz *f, const struct command *c, bool has_stack)
{
	return (struct model_event){
		.kind = c->kind, .thread = c->thread,
		.address = (uint32_t)take(&f->input, 1),
		.size = take(&f->input, 1) * (c->variant ? 1 : 64),
		.stack = has_stack ? (uint32_t)take(&f->input, 1) : 0,
	};
}

/* old: the address that it was announced for; -1: it was no realloc. */
static void allocate(struct fuzz *f, const struct model_event *event, int old, bool untracked)
{
	struct event e = event_of(f, RING_ALLOC, event);

	e.flags = (uint16_t)((untracked ? RING_F_UNTRACKED : 0) | (old < 0 ? 0 : RING_F_REALLOC));
	if (old >= 0)
		e.old_address = block_address(event->kind, (uint32_t)old);
	apply(f, e, event->thread, stack_id(f, event->stack, event->size & 1));
	model_alloc(&model, event, untracked);
}

static void release(struct fuzz *f, const struct model_event *event)
{
	apply(f, event_of(f, RING_FREE, event), event->thread,
	      event->stack ? stack_id(f, event->stack, true) : 0);
	model_free(&model, event);
}

static void announce(struct fuzz *f, const struct model_event *event)
{
	struct event e = event_of(f, RING_FREE, event);

	e.flags = RING_F_REALLOC;
	apply(f, e, event->thread, stack_id(f, event->stack, true));
	model_realloc_begin(&model, event);
}

static void undo(struct fuzz *f, const struct model_event *event, bool untracked)
{
	struct event e = event_of(f, RING_UNDO, event);

	e.flags = (uint16_t)(RING_F_STACK | (untracked ? RING_F_UNTRACKED : 0));
	apply(f, e, event->thread, stack_id(f, event->stack, true));
	model_undo(&model, event, untracked);
}

/* A block at each of so many stacks is freed by a realloc to 0 bytes there. */
static void burst(struct fuzz *f, const struct model_event *event)
{
	uint64_t count = take(&f->input, 1) * 2;
	uint32_t first = (uint32_t)take(&f->input, 2);

	for (uint64_t i = 0; i < count; i++) {
		struct model_event freed = *event;

		allocate(f, event, -1, false);
		freed.size = 0;
		freed.stack = (uint32_t)(first + i) % MODEL_STACKS;
		announce(f, &freed);
	}
}

/* ---- mappings ---- */

static struct event map_event(enum ring_kind kind, uint32_t low, uint32_t high)
{
	uint64_t at = FIRST_PAGE + low * PAGE_BYTES, size = (high - low) * PAGE_BYTES;

	if (kind == RING_BRK)
		return (struct event){ .kind = kind, .address = at, .size = at + size };
	return (struct event){ .kind = kind, .address = at, .size = size };
}

static void map(struct fuzz *f, const struct command *c, uint32_t low, uint32_t high)
{
	uint32_t stack = (uint32_t)take(&f->input, 1);
	struct event e = map_event(RING_MAP, low, high);

	if (low == high || !model_map(&model, c->thread, stack, low, high))
		return;
	if (c->variant)		/* the break grows: both ends the other way round */
		e = (struct event){ .kind = RING_BRK, .address = e.address + e.size,
				    .size = e.address };
	apply(f, e, c->thread, stack_id(f, stack, true));
}

static void unmap(struct fuzz *f, const struct command *c, uint32_t low, uint32_t high)
{
	enum ring_kind kind = c->variant && low != high ? RING_BRK : RING_UNMAP;

	apply(f, map_event(kind, low, high), c->thread, 0);
	model_unmap(&model, c->thread, low, high);
}

static void change_mappings(struct fuzz *f, const struct command *c, bool maps)
{
	uint32_t low = (uint32_t)take(&f->input, 1) % MODEL_PAGES;
	uint32_t high = low + (uint32_t)take(&f->input, 1) % (MODEL_PAGES - low + 1);

	if (maps)
		map(f, c, low, high);
	else
		unmap(f, c, low, high);
}

static void fail_unmap(struct fuzz *f, const struct command *c)
{
	apply(f, (struct event){ .kind = RING_UNMAP_UNDO }, c->thread, 0);
	model_unmap_undo(&model, c->thread);
}

/* ---- what else happens to books ---- */

static void evict(struct fuzz *f)
{
	struct site_choice choice = { .most = (uint32_t)take(&f->input, 1) };
	uint32_t count, dropped;

	must(stacks_intern(f->stacks, NULL, 0, STACK_OTHER, &choice.other_stack) == 0);
	f->sites_known &= sites_places(f->sites) <= choice.most;
	must(live_evict_sites(f->live, choice, &count) == 0);
	live_keep_stacks(f->live, f->stacks);
	stacks_keep(f->stacks, choice.other_stack);
	must(stacks_sweep(f->stacks, &dropped) == 0);
	live_forget_stacks(f->live, f->stacks);
	f->sites_known &= dropped == 0;
}

static void lose_some(struct fuzz *f, bool all)
{
	f->lives_known = f->sites_known = false;
	if (all)
		live_lose_track(f->live, f->now);
	else
		live_thin(f->live);
}

/* The session begins to sample; what is drawn from now on stands for more than itself. */
static void sample(struct fuzz *f)
{
	live_set_sampled(f->live);
	f->sampled = true;
	f->lost++;
	f->totals_known = f->lives_known = f->sites_known = false;
}

static void look_at_older(struct fuzz *f, bool ends)
{
	if (ends)
		(void)live_set_older(f->live, NULL);
	else
		live_await_older(f->live, f->now);
}

static void foresee(struct fuzz *f)
{
	uint64_t address = block_address(SITE_MALLOC, (uint32_t)take(&f->input, 1)), found = 0;

	for (unsigned int stage = 0; stage < 4; stage++)
		live_foresee(f->live, stage, address, &found);
	sites_foresee(f->sites, 2, f->stack[take(&f->input, 1)]);
}

/* A number at which sums wrap or memory ends, some pages off; or any. */
static uint64_t take_edge(struct fuzz *f)
{
	static const uint64_t edges[] = { 0, 1ull << 31, 1ull << 47, 1ull << 55, 1ull << 56,
					  1ull << 63, FIRST_PAGE };
	uint64_t byte = take(&f->input, 1);

	if (byte >= 224)
		return take(&f->input, 8);
	return edges[byte % ARRAY_SIZE(edges)] + (byte / ARRAY_SIZE(edges) - 16) * PAGE_BYTES;
}

/* Numbers that no target has, but one that lies. */
static void lie(struct fuzz *f, const struct command *c)
{
	static const enum ring_kind kinds[] = { RING_ALLOC, RING_FREE, RING_UNDO, RING_MAP,
						RING_UNMAP, RING_BRK, RING_MODULE };
	struct event e = {
		.kind = kinds[take(&f->input, 1) % 7],
		.address = take_edge(f), .size = take_edge(f),
		.flags = (uint16_t)take(&f->input, 2), .entry = c->variant ? CUSTOM : GLIBC,
	};

	if (e.kind == RING_ALLOC)
		e.address |= 1;		/* no block lies at 0 */
	f->totals_known = f->lives_known = f->sites_known = false;
	apply(f, e, c->thread, stack_id(f, (uint32_t)take(&f->input, 1), true));
}

static void upkeep(struct fuzz *f, const struct command *c)
{
	switch (take(&f->input, 1) % 8) {
	case 0:
		evict(f);
		break;
	case 1:
		lose_some(f, c->variant);
		break;
	case 2:
		sample(f);
		break;
	case 3:
		look_at_older(f, c->variant);
		break;
	case 4:
		foresee(f);
		break;
	case 5:
		f->now += JUMP;
		live_settle(f->live, f->now);
		break;
	case 6:
		sites_tick(f->sites, f->now);
		break;
	default:
		lie(f, c);
	}
}

static void do_command(struct fuzz *f)
{
	uint64_t byte = take(&f->input, 1);
	const struct command c = {
		.what = byte & 15, .thread = byte >> 4 & 3,
		.kind = byte & 64 ? SITE_CUSTOM : SITE_MALLOC, .variant = byte >> 7,
	};
	struct model_event event;

	if (c.what >= 9) {
		if (c.what < 13)
			change_mappings(f, &c, c.what & 1);
		else if (c.what == 13)
			fail_unmap(f, &c);
		else if (c.what == 14)
			upkeep(f, &c);
		else
			compare(f);
		return;
	}
	event = take_event(f, &c, true);
	switch (c.what) {
	case 0: case 1:
		allocate(f, &event, -1, false);
		break;
	case 2:
		allocate(f, &event, -1, c.variant);
		break;
	case 3:
		release(f, &event);
		break;
	case 4: case 5:
		announce(f, &event);
		break;
	case 6:
		allocate(f, &event, (int)take(&f->input, 1), c.variant);
		break;
	case 7:
		undo(f, &event, c.variant);
		break;
	default:
		burst(f, &event);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .input = { data, size } };

	begin(&f);
	while (f.input.size > 0)
		do_command(&f);
	compare(&f);
	live_finish(f.live);
	model_finish(&model);
	compare(&f);
	end(&f);
	return 0;
}
