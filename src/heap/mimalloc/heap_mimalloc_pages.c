/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc_pages.c - which blocks of a page are live: those on none of its lists.
 *
 * A page has three: blocks to be given out, blocks freed by its own thread, and blocks freed by
 * others. The first two are not in its number of used blocks, the third still is, as are those
 * queued on a heap: capacity = used + free + freed by its own. No lock guards the first two,
 * so that a thread caught in between shows by a number that does not fit. A thread that has
 * taken a list off to empty it elsewhere can't be seen; then those blocks pass for
 * live ones, and are reachable, for it has them in its registers.
 */
#include "src/heap/mimalloc/heap_mimalloc.h"

#include <errno.h>
#include <string.h>

#define PADDING	8u

struct list {
	const char *name;
	uint64_t head;
	uint32_t count;
};

/* Block to number; capacity where it is none. */
static uint64_t number_of(const struct mimalloc_page *page, uint64_t block)
{
	uint64_t offset = block - page->start;

	return block < page->start || offset % page->size || offset / page->size > page->capacity
		       ? page->capacity
		       : offset / page->size;
}

/* Marks it free: false if it is no block, or was free before. */
static bool take_free(struct mimalloc *mimalloc, const struct mimalloc_page *page, uint64_t block)
{
	uint64_t number = number_of(page, block), bit = 1ull << number % 64;

	if (number >= page->capacity || (mimalloc->is_free[number / 64] & bit))
		return false;
	mimalloc->is_free[number / 64] |= bit;
	return true;
}

static int follow(struct mimalloc *mimalloc, const struct mimalloc_page *page, struct list *list)
{
	uint64_t block = list->head, word;

	/* No block is on it twice, so that it ends. */
	for (list->count = 0; block; list->count++) {
		if (!take_free(mimalloc, page, block) ||
		    !heap_pages_read(&mimalloc->pages, block, &word, sizeof(word)))
			return mimalloc_fail(mimalloc, -EAGAIN, "a list of %s blocks is broken",
					     list->name);
		block = mimalloc_link(mimalloc, word, page->address, page->keys);
	}
	if (page->start > page->low)
		mimalloc->sums.links += list->count;
	return 0;
}

static int take_delayed(struct mimalloc *mimalloc, const struct mimalloc_page *page,
			uint32_t *ret_count)
{
	size_t i = mimalloc_delayed_from(mimalloc, page->low);

	for (*ret_count = 0; i < mimalloc->delayed_count && mimalloc->delayed[i] < page->high;
	     i++, (*ret_count)++) {
		if (!take_free(mimalloc, page, mimalloc->delayed[i]))
			return mimalloc_fail(mimalloc, -EAGAIN, "a queued block is no block");
	}
	mimalloc->sums.delayed_matched += *ret_count;
	return 0;
}

static int add_live(const struct mimalloc *mimalloc, const struct mimalloc_page *page,
		    struct blocks *blocks)
{
	uint64_t bytes = page->size - (mimalloc->layout->padded ? PADDING : 0);
	int r = 0;

	for (uint64_t i = 0; i < page->capacity && r == 0; i++) {
		if (!(mimalloc->is_free[i / 64] >> i % 64 & 1))
			r = blocks_add(blocks, page->start + i * page->size, bytes);
	}
	return r;
}

int mimalloc_walk_page(struct mimalloc *mimalloc, const struct mimalloc_page *page,
		       struct blocks *blocks)
{
	struct list free = { "free", page->free, 0 }, local = { "freed", page->local_free, 0 },
		    others = { "remotely freed", page->thread_free, 0 };
	uint64_t live, size = page->size - (mimalloc->layout->padded ? PADDING : 0);
	uint32_t delayed = 0;
	int r;

	memset(mimalloc->is_free, 0, (page->capacity + 63) / 64 * sizeof(*mimalloc->is_free));
	r = follow(mimalloc, page, &free);
	if (r == 0)
		r = follow(mimalloc, page, &local);
	if (r == 0 && page->used + free.count + local.count != page->capacity)
		r = mimalloc_fail(mimalloc, -EAGAIN, "a page has %u used and %u free blocks of %u",
				  page->used, free.count + local.count, page->capacity);
	if (r == 0)
		r = follow(mimalloc, page, &others);
	if (r == 0)
		r = take_delayed(mimalloc, page, &delayed);
	if (r < 0)
		return r;
	live = page->used - others.count - delayed;
	mimalloc->sums.live_count += live;
	mimalloc->sums.live_bytes += live * size;
	mimalloc->sums.free_count += page->capacity - live;
	mimalloc->sums.free_bytes += (page->capacity - live) * page->size;
	return blocks ? add_live(mimalloc, page, blocks) : 0;
}
