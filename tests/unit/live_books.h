/* SPDX-License-Identifier: MIT */
/* live_books.h - books of an exact session and events for them: what do they say of frees? */
#ifndef MEMATTACH_TESTS_LIVE_BOOKS_H
#define MEMATTACH_TESTS_LIVE_BOOKS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "src/live/live.h"

#define GLIBC	3u	/* an entry of glibc's; others are of another family */

struct books {
	struct stacks *stacks;
	struct sites *sites;
	struct live *live;
	uint64_t now, lost;	/* time of the last event; records lost by now */
	struct live_options options;
};
static struct books books;

static uint64_t books_lost(void *context)
{
	return ((struct books *)context)->lost;
}

/* place: what is said of addresses that are no block of the books; NULL: nothing. */
static inline int books_begin(enum wrong_free_reason (*place)(void *, const struct event *),
			      void *context)
{
	books = (struct books){ .now = 1000, .options = {
		.exact = true, .complete = true, .lost = books_lost, .context = &books,
		.place = place, .place_context = context } };
	books.options.glibc_entry[GLIBC] = true;
	assert_int_equal(stacks_new(&books.stacks), 0);
	assert_int_equal(sites_new(books.stacks, &books.sites), 0);
	assert_int_equal(live_new(&books.options, books.sites, &books.live), 0);
	return 0;
}

static inline int books_end(void **state)
{
	(void)state;
	live_free(books.live);
	sites_free(books.sites);
	stacks_free(books.stacks);
	return 0;
}

/* Books the event as the next one. Those below are of glibc's. */
static inline void apply(struct event event, uint32_t stack)
{
	event.time = ++books.now;
	assert_int_equal(live_apply(books.live, &event, stack), 0);
}

static inline void alloc(uint64_t thread, uint64_t address, uint64_t size, uint32_t stack)
{
	apply((struct event){ .kind = RING_ALLOC, .address = address, .size = size,
			      .thread = thread, .entry = GLIBC }, stack);
}

static inline void release(uint64_t thread, uint64_t address, uint32_t stack)
{
	apply((struct event){ .kind = RING_FREE, .address = address, .thread = thread,
			      .entry = GLIBC }, stack);
}

static inline void realloc_begin(uint64_t thread, uint64_t address, uint32_t stack)
{
	apply((struct event){ .kind = RING_FREE, .flags = RING_F_REALLOC, .address = address,
			      .thread = thread, .entry = GLIBC }, stack);
}

static inline void realloc_done(uint64_t thread, uint64_t old, uint64_t address, uint64_t size)
{
	apply((struct event){ .kind = RING_ALLOC, .flags = RING_F_REALLOC, .address = address,
			      .old_address = old, .size = size, .thread = thread,
			      .entry = GLIBC }, 9);
}

static inline void realloc_failed(uint64_t thread, uint64_t address)
{
	apply((struct event){ .kind = RING_UNDO, .address = address, .thread = thread,
			      .entry = GLIBC }, 0);
}

static inline size_t wrong_count(void)
{
	size_t count;

	(void)wrong_frees_all(live_wrong_frees(books.live), &count);
	return count;
}

static inline const struct wrong_free *wrong_at(size_t index)
{
	size_t count;
	const struct wrong_free *all = wrong_frees_all(live_wrong_frees(books.live), &count);

	assert_true(index < count);
	return &all[index];
}

#endif
