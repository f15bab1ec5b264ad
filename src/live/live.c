/* SPDX-License-Identifier: MIT */
/*
 * live.c - blocks of the malloc family by address; mappings are in live_maps.c.
 *
 * A realloc is announced by RING_FREE with RING_F_REALLOC before it is tried. The
 * old block is then set aside: off its address (another thread may get that
 * at once) but still booked as live, until the same thread says how it went:
 * RING_ALLOC with its address (freed, and a new block), RING_UNDO (back to its
 * address, nothing ever happened), or any other event of the malloc family (realloc(p, 0): freed).
 * Booking the free at once and taking it back was rejected: peaks would be wrong.
 *
 * A freed address is remembered by a mark in its own place of the table, so that
 * the next allocation there finds its place ready; the mark leads to what is known of
 * the block that was (freed.h), which bounds their number. What is freed and does
 * not live is judged in live_wrong.c, a realloc when it is announced.
 *
 * It refuses to guess: what can't be known is counted as unknown.
 */
#include "src/live/live.h"

#include <errno.h>

#include "src/base/huge_pages.h"
#include "src/live/live_private.h"

#define FIRST_CAPACITY	1024u
#define MAX_THREADS	65536u		/* more share the last number: a target may forge them */
#define FIRST_CREDIT	(1ull << 24)	/* see live_wrong.c: some 50 ms, once */
#define EVENT_CREDIT	4u
#define GLIBC_HEADER	8u
#define GLIBC_MIN_CHUNK	32u
#define NEAR_SHIFT	5u	/* of live.addresses: small blocks lie 32 bytes apart or less */

int live_new(const struct live_options *options, struct sites *sites, struct live **ret)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	live->options = *options;
	live->sites = sites;
	live->exact = options->exact;
	live->every_alloc = true;
	live->complete = options->exact && options->complete;
	live->credit = FIRST_CREDIT;
	live->free_block = NO_BLOCK;
	live->addresses.near = NEAR_SHIFT;
	live->most_threads = MAX_THREADS;
	if (mappings_new(&live->mappings) < 0 || pairs_new(&live->pairs) < 0 ||
	    freed_new(&live->freed) < 0 || wrong_frees_new(&live->wrong) < 0) {
		live_free(live);
		return -ENOMEM;
	}
	*ret = live;
	return 0;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	for (uint32_t i = 0; i < live->thread_count; i++)
		free(live->thread[i].cut);
	mappings_free(live->mappings);
	pairs_free(live->pairs);
	freed_free(live->freed);
	older_free(live->older);
	free(live->unknown);
	wrong_frees_free(live->wrong);
	hashmap_done(&live->addresses);
	hashmap_done(&live->thread_index);
	free(live->block);
	free(live->thread);
	free(live);
}

static int threads_reserve(struct live *live)
{
	uint32_t capacity = live->thread_capacity ? live->thread_capacity * 2u : 16u;
	struct live_thread *thread;

	if (live->thread_count < live->thread_capacity)
		return 0;
	thread = reallocarray(live->thread, capacity, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	live->thread = thread;
	live->thread_capacity = capacity;
	return 0;
}

struct live_thread *live_thread(struct live *live, uint64_t name, uint64_t now)
{
	uint64_t at;

	if (live->thread_count && live->last_name == name) {
		live->thread[live->last_thread].last = now;
		return &live->thread[live->last_thread];
	}
	if (!hashmap_get(&live->thread_index, name, &at)) {
		if (live->thread_count >= live->most_threads)
			return &live->thread[live->thread_count - 1u];
		at = live->thread_count;
		if (threads_reserve(live) < 0 || hashmap_put(&live->thread_index, name, at) < 0)
			return NULL;
		live->thread[live->thread_count++] = (struct live_thread){ .seen = now,
									   .pointer = name };
	}
	live->last_name = name;
	live->last_thread = (uint32_t)at;
	live->thread[at].last = now;
	return &live->thread[at];
}

static int blocks_reserve(struct live *live)
{
	uint32_t capacity = live->block_capacity ? live->block_capacity * 2u : FIRST_CAPACITY;
	struct block *block;

	if (live->free_block != NO_BLOCK || live->block_count < live->block_capacity)
		return 0;
	if (capacity > NO_BLOCK / 2u)
		return -ENOMEM;
	block = reallocarray(live->block, capacity, sizeof(*block));
	if (!block)
		return -ENOMEM;
	huge_pages_ask(block, capacity * sizeof(*block));
	live->block = block;
	live->block_capacity = capacity;
	return 0;
}

/* pre: blocks_reserve */
static uint32_t block_take(struct live *live)
{
	uint32_t at = live->free_block;

	if (at == NO_BLOCK)
		return live->block_count++;
	live->free_block = (uint32_t)live->block[at].size;
	/* The next allocation's, which may have been free for long. */
	if (live->free_block != NO_BLOCK)
		__builtin_prefetch(&live->block[live->free_block], 1);
	return at;
}

void live_release(struct live *live, uint32_t at)
{
	live->block[at].address = 0;
	live->block[at].size = live->free_block;
	live->free_block = at;
}

/* What glibc's chunk takes beyond size; a chunk of its own mapping may take up to a page more. */
static uint64_t glibc_overhead(uint64_t size)
{
	uint64_t chunk = (size + GLIBC_HEADER + LIVE_ALIGNMENT - 1u) & ~(LIVE_ALIGNMENT - 1ull);

	return (chunk < GLIBC_MIN_CHUNK ? GLIBC_MIN_CHUNK : chunk) - size;
}

void live_change(const struct block *restrict block, struct site_change *restrict ret)
{
	*ret = (struct site_change){
		.term = estimate_term(block->size, block->interval),
		.born = block->time,
		.overhead = block->glibc ? glibc_overhead(block->size) : 0,
	};
}

/* A block's end that is not its owner's doing, but thread's or (NULL) nobody knows whose. */
static void hand_over(struct live *live, const struct block *block, struct live_thread *thread,
		      const struct estimate_term *term)
{
	estimate_add(&live->thread[block->thread].gone, term);
	if (!thread)
		return;
	estimate_add(&thread->freed_others, term);
	pairs_hand_over(live->pairs, block->thread, (uint32_t)(thread - live->thread), term);
}

/* Books the end of a block that is already off its address. thread: who ended it, or NULL. */
static void block_end(struct live *live, uint32_t at, uint64_t time, struct live_thread *thread)
{
	struct block *block = &live->block[at];
	struct site_change change;
	struct live_thread *owner = &live->thread[block->thread];
	struct pair *pair = pairs_at(live->pairs, block->pair);
	bool own = thread == owner;

	live_change(block, &change);
	change.time = time;
	change.temporary = live->every_alloc && own && thread->serial == block->serial;
	if (own)
		estimate_add(&thread->freed, &change.term);
	else
		hand_over(live, block, thread, &change.term);
	pair_free(pair, &change.term);
	pair->temporary_count += change.temporary;
	sites_release(live->sites, sites_find(live->sites, pair->site), &change);
	live->live_count--;
	live_release(live, at);
}

/* The address is in use again, or its history means nothing any more. */
static void live_unmark(struct live *live, uint64_t value)
{
	freed_remove(live->freed, (uint32_t)(value >> 1));
}

/*
 * pre: address has no mark. Takes what else stands at its place off the table. place: of its value
 * there, NULL: to be found.
 */
static void live_mark(struct live *live, const struct freed_block *block, uint64_t *place)
{
	uint64_t evicted = 0;
	uint32_t index = FREED_NONE;

	if (live->complete && block->address != 0)
		index = freed_add(live->freed, block, &evicted);
	if (index != FREED_NONE && evicted == 0 && place) {
		*place = (uint64_t)index << 1 | MARK;
		return;
	}
	if (evicted != 0) {
		hashmap_remove(&live->addresses, evicted, NULL);
		hashmap_foresee(&live->addresses, freed_oldest(live->freed));
	}
	if (index != FREED_NONE &&
	    hashmap_put(&live->addresses, block->address, (uint64_t)index << 1 | MARK) == 0)
		return;
	/* Out of memory: forgotten, and only less is known. */
	if (index != FREED_NONE)
		freed_remove(live->freed, index);
	hashmap_remove(&live->addresses, block->address, NULL);
}

/* The end of a block that is off its address, or about to be marked there. */
static struct freed_block block_free(struct live *live, uint32_t at, const struct freed_event *by,
				     struct live_thread *thread)
{
	const struct block *block = &live->block[at];
	struct freed_block freed = {
		.address = block->address, .size = block->size, .born = block->time,
		.site = pairs_at(live->pairs, block->pair)->site, .thread = block->thread,
		.freed = *by,
	};

	block_end(live, at, by->time, thread);
	return freed;
}

/* A free of an address where nothing lives as far as we know, and that is not wrong. */
static void free_unknown(struct live *live, const struct unknown_free *freed)
{
	uint64_t value, bytes = live_older_freed(live, freed);

	sites_oddities(live->sites)->free_unknown++;
	if (hashmap_get(&live->addresses, freed->address, &value)) {
		if (!(value & MARK))
			return;		/* another thread has it by now */
		live_unmark(live, value);	/* it lived again, see live_wrong.c */
	}
	live_mark(live, &(struct freed_block){ .address = freed->address, .size = bytes,
					       .freed = freed->by }, NULL);
}

/* The realloc that thread announced did not fail: its old block is gone. */
static void pending_free(struct live *live, struct live_thread *thread,
			 struct live_realloc *call, uint64_t time)
{
	struct unknown_free *freed = &call->announced;
	struct freed_block block;

	if (!call->pending)
		return;
	if (freed->to_zero)
		live_resize_freed(live, call);
	call->pending = false;
	live->pending_count--;
	freed->by.time = time;
	if (call->block == NO_BLOCK) {
		free_unknown(live, freed);
		return;
	}
	block = block_free(live, call->block, &freed->by, thread);
	/* Another thread may have got the address meanwhile. */
	if (!hashmap_value(&live->addresses, freed->address))
		live_mark(live, &block, NULL);
}

/* A block at an address where one lived: that one's free was missed. */
static void block_missed(struct live *live, uint64_t value, uint64_t time)
{
	block_end(live, (uint32_t)(value >> 1), time, NULL);
	sites_oddities(live->sites)->missed_free++;
}

static void block_set(struct live *live, uint32_t at, const struct event *event,
		      uint32_t pair, const struct live_thread *thread)
{
	live->block[at] = (struct block){
		.address = event->address, .size = event->size, .time = event->time,
		.interval = event->interval, .serial = thread->serial, .pair = pair,
		.thread = (uint32_t)(thread - live->thread) & THREAD_MASK,
		.glibc = live->options.glibc_entry[event->entry],
	};
}

/* pairs_find, but for the pair that was found last there. */
static int find_pair(struct live *live, struct site *site, uint32_t thread, uint32_t *ret)
{
	int err;

	if (site->pair && site->pair_thread == thread) {
		*ret = site->pair - 1;
		return 0;
	}
	err = pairs_find(live->pairs, site->id, thread, ret);
	if (err == 0) {
		site->pair = *ret + 1;
		site->pair_thread = thread;
	}
	return err;
}

/* place: of the address in the table, NULL: it is not there. False: out of memory. */
static bool put_block(struct live *live, uint64_t address, uint32_t at, uint64_t *place)
{
	if (!place)
		return hashmap_put(&live->addresses, address, (uint64_t)at << 1) == 0;
	*place = (uint64_t)at << 1;
	return true;
}

static int apply_alloc(struct live *live, struct live_thread *thread, const struct event *event,
		       uint32_t stack)
{
	struct site *site = sites_get(live->sites, stack, live_kind(live, event->entry));
	struct live_realloc *call = live_realloc(live, thread, event->entry);
	struct site_change change;
	uint64_t value = 0, *place;
	uint32_t at, pair, number = (uint32_t)(thread - live->thread);
	bool present, kept = true;

	if (!site || blocks_reserve(live) < 0 || live_resized(live, call, event, site) < 0 ||
	    find_pair(live, site, number, &pair) < 0)
		return -ENOMEM;
	if (event->flags & RING_F_REALLOC)
		call->announced.to_zero = false;	/* it gave a block */
	pending_free(live, thread, call, event->time);
	place = hashmap_value(&live->addresses, event->address);
	present = place != NULL;
	if (present)
		value = *place;
	at = block_take(live);
	block_set(live, at, event, pair, thread);
	live_change(&live->block[at], &change);
	change.untracked = event->flags & RING_F_UNTRACKED;
	if (live->thinning.interval > event->interval && !change.untracked)
		kept = live_draw(live, at, &change);
	if (!change.untracked && kept && !put_block(live, event->address, at, place)) {
		live_release(live, at);
		return -ENOMEM;
	}
	if (present && (value & MARK))
		live_unmark(live, value);
	else if (present)
		block_missed(live, value, event->time);
	live->block[at].serial = ++thread->serial;
	if (event->interval > 0)
		live->every_alloc = false;
	change.time = event->time;
	change.thread = number;
	sites_alloc(live->sites, site, &change);
	estimate_add(&thread->alloc, &change.term);
	pair_alloc(pairs_at(live->pairs, pair), &change.term);
	live->events.alloc++;
	live->live_count += !change.untracked && kept;
	if (change.untracked) {
		estimate_add(&thread->gone, &change.term);
		pair_lose(pairs_at(live->pairs, pair), &change.term);
		live->complete = false;	/* its free will look like that of no block */
	}
	if (!change.untracked && kept)
		return 0;
	live_release(live, at);
	if (present)
		hashmap_remove(&live->addresses, event->address, NULL);
	return 0;
}

/* Sets the old block aside until the thread tells how its realloc went. */
static void apply_realloc_begin(struct live *live, struct live_realloc *call,
				const struct unknown_free *announced, uint32_t block)
{
	call->pending = true;
	live->pending_count++;
	call->announced = *announced;
	call->block = block;
	if (block != NO_BLOCK)
		hashmap_remove(&live->addresses, announced->address, NULL);
}

static int apply_free(struct live *live, struct live_thread *thread, const struct event *event,
		      uint32_t stack)
{
	const struct unknown_free freed = {
		.address = event->address, .entry = event->entry,
		.realloc = event->flags & RING_F_REALLOC,
		.to_zero = (event->flags & RING_F_REALLOC) && event->size == 0,
		.by = { .time = event->time, .stack = stack,
			.thread = (uint32_t)(thread - live->thread) & THREAD_MASK },
	};
	struct live_realloc *call = live_realloc(live, thread, event->entry);
	struct freed_block block;
	uint64_t *place;
	bool known;

	pending_free(live, thread, call, event->time);
	live->events.free++;
	place = hashmap_value(&live->addresses, event->address);
	known = place && !(*place & MARK);
	if (!known && !live->options.custom_entry[event->entry] &&
	    live_is_wrong(live, event, &freed.by, place))
		return 0;
	call->size = event->size;
	if (freed.realloc) {
		apply_realloc_begin(live, call, &freed,
				    known ? (uint32_t)(*place >> 1) : NO_BLOCK);
	} else if (known) {
		block = block_free(live, (uint32_t)(*place >> 1), &freed.by, thread);
		live_mark(live, &block, place);
	} else {
		free_unknown(live, &freed);
	}
	return 0;
}

/* The realloc failed: the old block is back at its address, as if nothing had happened. */
static int apply_undo(struct live *live, struct live_thread *thread, const struct event *event,
		      uint32_t stack)
{
	struct live_realloc *call = live_realloc(live, thread, event->entry);
	uint64_t value;
	bool present;

	if (live_resize_failed(live, event, stack) < 0)
		return -ENOMEM;
	if (!call->pending || call->announced.address != event->address)
		return 0;	/* settled long ago, or its announcement was lost */
	call->pending = false;
	live->pending_count--;
	live->events.free--;
	if (call->block == NO_BLOCK)
		return 0;
	if (event->flags & RING_F_UNTRACKED) {
		/* It lives on, and its end will not be seen: better off the books. */
		block_end(live, call->block, event->time, NULL);
		sites_oddities(live->sites)->untracked++;
		return 0;
	}
	present = hashmap_get(&live->addresses, event->address, &value);
	if (hashmap_put(&live->addresses, event->address,
			(uint64_t)call->block << 1) < 0) {
		block_end(live, call->block, event->time, NULL);
		return -ENOMEM;
	}
	if (present && (value & MARK))
		live_unmark(live, value);
	else if (present)
		block_missed(live, value, event->time);
	return 0;
}

static int apply(struct live *live, struct live_thread *thread, const struct event *event,
		 uint32_t stack)
{
	live->credit += EVENT_CREDIT;
	if (event->kind != RING_UNMAP_UNDO)
		live_forget_cut(live, thread);
	if ((event->kind == RING_ALLOC || event->kind == RING_FREE) && !thread->first)
		thread->first = event->time;
	switch (event->kind) {
	case RING_ALLOC:
		return apply_alloc(live, thread, event, stack);
	case RING_FREE:
		return apply_free(live, thread, event, stack);
	case RING_UNDO:
		return apply_undo(live, thread, event, stack);
	default:
		/* What an allocator maps in the middle of a realloc says nothing of its end. */
		for (int i = 0; i < LIVE_REALLOCS; i++)
			if (thread->realloc[i].announced.to_zero)
				pending_free(live, thread, &thread->realloc[i], event->time);
		return live_apply_map(live, thread, event, stack);
	}
}

int live_apply(struct live *live, const struct event *event, uint32_t stack)
{
	struct live_thread *thread = live_thread(live, event->thread, event->time);
	int error = thread ? apply(live, thread, event, stack) : -ENOMEM;

	if (error)
		live->complete = false;	/* what is not booked looks like no block later */
	return error;
}

bool live_size_at(const struct live *live, uint64_t address, uint64_t *ret)
{
	uint64_t value;

	if (!hashmap_get(&live->addresses, address, &value) || (value & MARK))
		return false;
	*ret = live->block[value >> 1].size;
	return true;
}

uint32_t live_site_at(const struct live *live, uint64_t address)
{
	uint64_t value;

	if (!hashmap_get(&live->addresses, address, &value) || (value & MARK))
		return 0;
	return pairs_at(live->pairs, live->block[value >> 1].pair)->site;
}

bool live_wants_stack(const struct event *event)
{
	if (event->kind == RING_BRK)
		return event->address > event->size;
	if (event->kind == RING_FREE)
		return (event->flags & RING_F_REALLOC) && event->size == 0;
	return event->kind == RING_ALLOC || event->kind == RING_MAP ||
	       (event->kind == RING_UNDO && (event->flags & RING_F_STACK));
}

void live_set_sampled(struct live *live)
{
	live->exact = live->complete = live->every_alloc = false;
}

bool live_exact(const struct live *live)
{
	return live->exact;
}

bool live_complete(const struct live *live)
{
	return live->complete &&
	       (!live->options.lost || live->options.lost(live->options.context) == 0);
}

bool live_every_alloc(const struct live *live)
{
	return live->every_alloc;
}

struct live_events live_events(const struct live *live)
{
	return live->events;
}

void live_settle(struct live *live, uint64_t now)
{
	/* Exact: the thread's next event is on its way, and a peak may depend on it. */
	if (live->exact || live->pending_count == 0)
		return;
	for (uint32_t i = 0; i < live->thread_count; i++) {
		struct live_thread *thread = &live->thread[i];

		for (int k = 0; k < LIVE_REALLOCS; k++) {
			struct live_realloc *call = &thread->realloc[k];
			uint64_t begun = call->announced.by.time;

			if (call->pending && now > begun &&
			    now - begun >= live->options.settle_ticks)
				pending_free(live, thread, call, begun);
		}
	}
}

void live_finish(struct live *live)
{
	for (uint32_t i = 0; i < live->thread_count; i++) {
		for (int k = 0; k < LIVE_REALLOCS; k++)
			pending_free(live, &live->thread[i], &live->thread[i].realloc[k],
				     live->thread[i].realloc[k].announced.by.time);
		live_forget_cut(live, &live->thread[i]);
	}
}

uint64_t live_count(const struct live *live)
{
	return live->live_count;
}

struct live_thread_figures live_thread_figures(const struct live *live, uint32_t number)
{
	const struct live_thread *thread = &live->thread[number];
	struct estimate left = estimate_without(&thread->alloc, &thread->freed), freed;

	left = estimate_without(&left, &thread->gone);
	freed = thread->freed;
	estimate_merge(&freed, &thread->freed_others);
	return (struct live_thread_figures){
		.pointer = thread->pointer, .first = thread->seen, .last = thread->last,
		.alloc_count = estimate_count(&thread->alloc),
		.alloc_bytes = estimate_bytes(&thread->alloc),
		.free_count = estimate_count(&freed), .free_bytes = estimate_bytes(&freed),
		.freed_others = estimate_count(&thread->freed_others),
		.freed_others_bytes = estimate_bytes(&thread->freed_others),
		.live_count = estimate_count(&left), .live_bytes = estimate_bytes(&left),
	};
}

const struct pairs *live_pairs(const struct live *live)
{
	return live->pairs;
}

uint32_t live_threads(const struct live *live)
{
	return live->thread_count;
}

void live_each(const struct live *live,
	       void (*each)(void *context, const struct live_block *block), void *context)
{
	for (uint32_t i = 0; i < live->block_count; i++) {
		const struct block *block = &live->block[i];

		if (block->address == 0)
			continue;
		each(context, &(struct live_block){
				      .address = ring_block_address(block->address),
				      .size = block->size, .time = block->time,
				      .custom = block->address & RING_CUSTOM_BLOCK,
				      .site = pairs_at(live->pairs, block->pair)->site,
				      .thread = block->thread,
				      .weight = estimate_weight(block->size, block->interval),
			      });
	}
}
