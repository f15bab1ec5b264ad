/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc_lists.c - the heaps of all threads, and the freed blocks that are queued on them.
 *
 * Pages name their heap, and nothing else leads to all of them without symbols; a heap
 * without pages has nothing queued. What another thread frees of a full page is queued on the
 * heap, and is free though the page does not know. Each thread's data count its segments:
 * where that is not what was found, something was missed, or invented.
 */
#include "src/heap/mimalloc/heap_mimalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/array.h"

/* struct mi_heap_s, behind its queues */
enum {
	HEAP_DELAYED = 0, HEAP_THREAD = 1, HEAP_KEYS = 4, HEAP_WORDS = 6,
};
/* struct mi_tld_s: segments.count and segments.current_size, and which thread's */
enum { TLD_BACKING = 16, TLD_COUNT = 896, TLD_SIZE = 912 };

/* What threads' data say of segments, or what was found. */
struct totals {
	struct hashmap count, bytes;	/* by thread */
};

static void totals_done(struct totals *totals)
{
	hashmap_done(&totals->count);
	hashmap_done(&totals->bytes);
}

static int hashmap_sum(struct hashmap *map, uint64_t key, uint64_t more)
{
	uint64_t sum = 0;

	(void)hashmap_get(map, key, &sum);
	return hashmap_put(map, key, sum + more);
}

static int totals_add(struct totals *totals, uint64_t thread, uint64_t count, uint64_t bytes)
{
	int r = hashmap_sum(&totals->count, thread, count);

	return r ? r : hashmap_sum(&totals->bytes, thread, bytes);
}

uint64_t mimalloc_link(const struct mimalloc *mimalloc, uint64_t word, uint64_t null,
		       const uint64_t keys[2])
{
	unsigned int shift = keys[0] % 64;

	if (!mimalloc->layout->coded)
		return word;
	word -= keys[0];
	if (shift)
		word = word >> shift | word << (64 - shift);
	word ^= keys[1];
	return word == null ? 0 : word;
}

/* --- heaps -------------------------------------------------------------------- */

static int push_heap(struct mimalloc *mimalloc, const struct mimalloc_heap *heap)
{
	size_t room = mimalloc->heap_room ? mimalloc->heap_room * 2 : 16;
	struct mimalloc_heap *grown;

	if (mimalloc->heap_count == MIMALLOC_MAX_HEAPS)
		return mimalloc_fail(mimalloc, -ENOTSUP, "more heaps than are looked at");
	if (mimalloc->heap_count == mimalloc->heap_room) {
		grown = reallocarray(mimalloc->heap, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		mimalloc->heap = grown;
		mimalloc->heap_room = room;
	}
	mimalloc->heap[mimalloc->heap_count++] = *heap;
	return hashmap_put(&mimalloc->heaps, heap->address, 0);
}

/* All queues with their sizes, so that it is a heap indeed. */
static bool is_heap(const struct mimalloc *mimalloc, uint64_t address)
{
	uint64_t word[3 * MIMALLOC_BINS];

	if (picture_read(mimalloc->picture, address + mimalloc->layout->queues, word,
			 sizeof(word)) < 0)
		return false;
	for (unsigned int bin = 0; bin < MIMALLOC_BINS; bin++) {
		if (word[3 * bin + 2] != mimalloc_bin_bytes(bin))
			return false;
	}
	return true;
}

static int add_heap(struct mimalloc *mimalloc, uint64_t address)
{
	uint64_t word[HEAP_WORDS], unused;
	struct mimalloc_heap heap = { .address = address };

	if (hashmap_get(&mimalloc->heaps, address, &unused))
		return 0;
	if (address % 8 || !is_heap(mimalloc, address) ||
	    picture_read(mimalloc->picture,
			 address + mimalloc->layout->queues + 24u * MIMALLOC_BINS, word,
			 sizeof(word)) < 0)
		return mimalloc_fail(mimalloc, -EAGAIN, "a page belongs to no heap");
	heap.tld = picture_word(mimalloc->picture, address);
	heap.delayed = word[HEAP_DELAYED];
	heap.thread = word[HEAP_THREAD];
	heap.keys[0] = word[HEAP_KEYS];
	heap.keys[1] = word[HEAP_KEYS + 1];
	return push_heap(mimalloc, &heap);
}

static int note_heap(void *context, const struct mimalloc_page *page)
{
	return page->heap ? add_heap(context, page->heap) : 0;
}

/* --- totals ------------------------------------------------------------------- */

static int sum_threads(const struct mimalloc *mimalloc, struct totals *told)
{
	_cleanup_(hashmap_done) struct hashmap seen = { .count = 0 };
	int r = 0;

	for (size_t i = 0; i < mimalloc->heap_count && r == 0; i++) {
		const struct mimalloc_heap *heap = &mimalloc->heap[i];
		uint64_t unused;

		/* A thread's further heaps share its data. */
		if (hashmap_get(&seen, heap->tld, &unused))
			continue;
		r = hashmap_put(&seen, heap->tld, 0);
		if (r == 0)
			r = totals_add(told, heap->thread,
				       picture_word(mimalloc->picture, heap->tld + TLD_COUNT),
				       picture_word(mimalloc->picture, heap->tld + TLD_SIZE));
	}
	return r;
}

static int sum_segments(const struct mimalloc *mimalloc, struct totals *found)
{
	int r = 0;

	for (size_t i = 0; i < mimalloc->segment_count && r == 0; i++) {
		const struct mimalloc_segment *segment = &mimalloc->segment[i];

		if (segment->thread)
			r = totals_add(found, segment->thread, 1, segment->high - segment->low);
	}
	return r;
}

/* Each thread has as many segments as it says, and as large ones. */
static bool totals_agree(const struct mimalloc *mimalloc, const struct totals *told,
			 const struct totals *found)
{
	for (size_t i = 0; i < mimalloc->heap_count; i++) {
		uint64_t thread = mimalloc->heap[i].thread, a[2] = { 0, 0 }, b[2] = { 0, 0 };

		(void)hashmap_get(&told->count, thread, &a[0]);
		(void)hashmap_get(&told->bytes, thread, &a[1]);
		(void)hashmap_get(&found->count, thread, &b[0]);
		(void)hashmap_get(&found->bytes, thread, &b[1]);
		if (a[0] != b[0] || a[1] != b[1])
			return false;
	}
	return hashmap_count(&found->count) <= hashmap_count(&told->count);
}

static int check_totals(struct mimalloc *mimalloc)
{
	_cleanup_(totals_done) struct totals told = { .count = { .count = 0 } };
	_cleanup_(totals_done) struct totals found = { .count = { .count = 0 } };
	int r = sum_threads(mimalloc, &told);

	if (r == 0)
		r = sum_segments(mimalloc, &found);
	if (r == 0 && !totals_agree(mimalloc, &told, &found))
		r = mimalloc_fail(mimalloc, -EAGAIN, "a thread has other segments than it says");
	return r;
}

/* --- what is queued ----------------------------------------------------------- */

static int push_delayed(struct mimalloc *mimalloc, uint64_t block)
{
	size_t room = mimalloc->delayed_room ? mimalloc->delayed_room * 2 : 256;
	uint64_t *grown;

	if (mimalloc->delayed_count == MIMALLOC_MAX_DELAYED)
		return mimalloc_fail(mimalloc, -ENOTSUP, "more queued blocks than are looked at");
	if (mimalloc->delayed_count == mimalloc->delayed_room) {
		grown = reallocarray(mimalloc->delayed, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		mimalloc->delayed = grown;
		mimalloc->delayed_room = room;
	}
	mimalloc->delayed[mimalloc->delayed_count++] = block;
	return 0;
}

/* A page adds one block to the queue until it is looked at again: a queue is never long. */
static int follow_delayed(struct mimalloc *mimalloc, const struct mimalloc_heap *heap)
{
	size_t limit = mimalloc->delayed_count + mimalloc->segment_count * MIMALLOC_SLICES;
	uint64_t block = heap->delayed, word;
	int r = 0;

	while (block && r == 0) {
		if (block % 8 || mimalloc_segment_at(mimalloc, block) < 0 ||
		    mimalloc->delayed_count >= limit ||
		    !heap_pages_read(&mimalloc->pages, block, &word, sizeof(word)))
			return mimalloc_fail(mimalloc, -EAGAIN, "a heap's queue is broken");
		r = push_delayed(mimalloc, block);
		block = mimalloc_link(mimalloc, word, heap->address, heap->keys);
	}
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int sort_delayed(struct mimalloc *mimalloc)
{
	if (mimalloc->delayed_count)
		qsort(mimalloc->delayed, mimalloc->delayed_count, sizeof(*mimalloc->delayed),
		      by_value);
	for (size_t i = 1; i < mimalloc->delayed_count; i++) {
		if (mimalloc->delayed[i] == mimalloc->delayed[i - 1])
			return mimalloc_fail(mimalloc, -EAGAIN, "a block is queued twice");
	}
	return 0;
}

size_t mimalloc_delayed_from(const struct mimalloc *mimalloc, uint64_t address)
{
	return ARRAY_BISECT(mimalloc->delayed_count, i, mimalloc->delayed[i] < address);
}

int mimalloc_read_lists(struct mimalloc *mimalloc)
{
	int r;

	hashmap_done(&mimalloc->heaps);
	mimalloc->heaps = (struct hashmap){ .count = 0 };
	mimalloc->heap_count = mimalloc->delayed_count = 0;
	r = add_heap(mimalloc, mimalloc->main);
	for (size_t i = 0; i < mimalloc->segment_count && r == 0; i++) {
		if (!mimalloc->segment[i].empty)
			r = mimalloc_each_page(mimalloc, &mimalloc->segment[i], note_heap,
					       mimalloc);
	}
	if (r == 0)
		r = check_totals(mimalloc);
	for (size_t i = 0; i < mimalloc->heap_count && r == 0; i++)
		r = follow_delayed(mimalloc, &mimalloc->heap[i]);
	return r == 0 ? sort_delayed(mimalloc) : r;
}
