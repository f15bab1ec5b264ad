/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc.c - all live blocks of mimalloc, read from outside: heap_walk_mimalloc.
 *
 * As with glibc everything is walked and checked first, and then again to be handed on. What
 * must agree: each segment with its slices, each page with its lists, each thread's data with
 * the segments that it has. Which build it is (a page's struct is larger where lists are coded)
 * is found by trying: the slices of a segment fit one of them only.
 * Of blocks that were asked for with an alignment the program's pointer may lie behind the
 * begin, and nothing says where; the page only says that there are such. Guessing it was
 * rejected; instead the marking takes pointers to every place that it may be for start pointers
 * (blocks_set_aligned), and the block is told with its own begin.
 * Segments in which nothing is in use, and what lies between pages, are neither roots nor blocks:
 * what was freed there still holds pointers. The heaps of threads stay roots: heaps that the
 * program made itself hang there, and are blocks.
 */
#include "src/heap/mimalloc/heap_mimalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_VERSION	209u	/* the one whose source and behaviour were compared */
#define NEAR_BYTES	256u	/* of a stack: the frames of a system call */

int mimalloc_fail(struct mimalloc *mimalloc, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(mimalloc->why, sizeof(mimalloc->why), format, args);
	va_end(args);
	return error;
}

static int mimalloc_init(struct mimalloc *mimalloc)
{
	mimalloc->head = malloc(MIMALLOC_HEAD_MAX);
	mimalloc->is_free = calloc(MIMALLOC_MAX_BLOCKS / 64 + 1, sizeof(*mimalloc->is_free));
	if (!mimalloc->head || !mimalloc->is_free)
		return -ENOMEM;
	return heap_pages_init(&mimalloc->pages, mimalloc->picture);
}

static void mimalloc_done(struct mimalloc *mimalloc)
{
	free(mimalloc->segment);
	free(mimalloc->heap);
	free(mimalloc->delayed);
	free(mimalloc->head);
	free(mimalloc->is_free);
	hashmap_done(&mimalloc->heaps);
	heap_pages_done(&mimalloc->pages);
}

/* --- checking ----------------------------------------------------------------- */

static int check_page(void *context, const struct mimalloc_page *page)
{
	return mimalloc_walk_page(context, page, NULL);
}

static int check_pages(struct mimalloc *mimalloc)
{
	int r = 0;

	mimalloc->sums = (struct mimalloc_sums){ .live_count = 0 };
	for (size_t i = 0; i < mimalloc->segment_count && r == 0; i++) {
		if (!mimalloc->segment[i].empty)
			r = mimalloc_each_page(mimalloc, &mimalloc->segment[i], check_page,
					       mimalloc);
	}
	if (r == 0 && mimalloc->sums.delayed_matched != mimalloc->delayed_count)
		r = mimalloc_fail(mimalloc, -EAGAIN, "a queued block is in no page");
	/* Other 2.0.x keep another distance to the first block: lists show whether it is right. */
	if (r == 0 && !mimalloc->version && mimalloc->sums.live_count && !mimalloc->sums.links)
		r = mimalloc_fail(mimalloc, -ENOTSUP, "its version is not known");
	return r;
}

static int check_layout(struct mimalloc *mimalloc)
{
	int r = mimalloc_read_lists(mimalloc);

	return r == 0 ? check_pages(mimalloc) : r;
}

/* Is there a page anywhere, so that the layouts can be told apart? */
static int check(struct mimalloc *mimalloc)
{
	const struct mimalloc_layout *second = &mimalloc_layouts[1];
	char why[sizeof(mimalloc->why)];
	int r = mimalloc_read_segments(mimalloc);

	if (r < 0)
		return r;
	r = check_layout(mimalloc);
	if (r != -EAGAIN || mimalloc->layout->queues != second->queues)
		return r;
	memcpy(why, mimalloc->why, sizeof(why));
	mimalloc->layout = second;
	r = check_layout(mimalloc);
	if (r == -EAGAIN) {
		/* Of the two, the common one's reason. */
		mimalloc->layout = &mimalloc_layouts[0];
		memcpy(mimalloc->why, why, sizeof(why));
	}
	return r;
}

static int check_known(struct mimalloc *mimalloc)
{
	int r = mimalloc_init(mimalloc);

	if (r < 0)
		return r;
	if (mimalloc->version > 1 && mimalloc->version != KNOWN_VERSION)
		return mimalloc_fail(mimalloc, -ENOTSUP, "only version 2.0.9 is understood");
	if (!mimalloc->layout)
		return mimalloc_fail(mimalloc, -ENOTSUP,
				     "its version is not known; only 2.0.9 is understood");
	return check(mimalloc);
}

/* --- handing on --------------------------------------------------------------- */

/* Neighbours among pages that can share a segment of the map. */
struct run {
	struct mimalloc *mimalloc;
	struct heap *heap;
	uint64_t low, high;
	unsigned int granule;
	bool aligned;
};

static int end_run(struct run *run)
{
	int r;

	if (run->low == run->high)
		return 0;
	r = blocks_add_segment(run->heap->blocks, run->low, run->high, run->granule);
	if (r == 0 && run->aligned)
		r = blocks_set_aligned(run->heap->blocks, run->low);
	run->low = run->high;
	return r;
}

static int add_to_run(void *context, const struct mimalloc_page *page)
{
	struct run *run = context;
	unsigned int granule = page->size % 16 ? 8 : 16;
	int r = 0;

	if (run->low != run->high && (granule != run->granule || page->aligned != run->aligned))
		r = end_run(run);
	/* What is free between two pages has no blocks, and is no root either. */
	run->high = page->high;
	run->granule = granule;
	run->aligned = page->aligned;
	return r;
}

static int add_page(void *context, const struct mimalloc_page *page)
{
	struct run *run = context;

	return mimalloc_walk_page(run->mimalloc, page, run->heap->blocks);
}

static int add_segment(struct mimalloc *mimalloc, struct heap *heap,
		       const struct mimalloc_segment *segment)
{
	uint64_t low = segment->low + MIMALLOC_SLICE;
	struct run run = { mimalloc, heap, low, low, 16, false };
	int r;

	if (segment->empty)
		return ranges_add(&heap->own, segment->low, segment->high);
	r = ranges_add(&heap->own, segment->low, low);
	if (r == 0)
		r = mimalloc_each_page(mimalloc, segment, add_to_run, &run);
	if (r == 0)
		r = end_run(&run);
	if (r == 0 && run.high < segment->high)
		r = ranges_add(&heap->own, run.high, segment->high);
	return r ? r : mimalloc_each_page(mimalloc, segment, add_page, &run);
}

static uint64_t sum_ranges(const struct ranges *ranges)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ranges->count; i++)
		sum += ranges->range[i].high - ranges->range[i].low;
	return sum;
}

/* Segments of one heap in another's can't be added, and are forged: 1 if there are none. */
static int check_apart(const struct mimalloc *mimalloc, int count, struct heap *heap)
{
	_cleanup_(ranges_done) struct ranges all = { 0, 0, NULL };
	const struct ranges *others = blocks_segments(heap->blocks);
	uint64_t sum;
	int r = others ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < others->count; i++)
		r = ranges_add(&all, others->range[i].low, others->range[i].high);
	for (int i = 0; i < count; i++) {
		const struct mimalloc_segment *segment = mimalloc[i].segment;

		for (size_t j = 0; r == 0 && j < mimalloc[i].segment_count; j++)
			r = ranges_add(&all, segment[j].low, segment[j].high);
	}
	if (r < 0)
		return r;
	sum = sum_ranges(&all);
	ranges_normalize(&all);
	return sum == sum_ranges(&all);
}

static int heap_mimalloc_add(struct mimalloc *mimalloc, struct heap *heap)
{
	int r = 0;

	mimalloc->sums = (struct mimalloc_sums){ .live_count = 0 };
	for (size_t i = 0; i < mimalloc->segment_count && r == 0; i++)
		r = add_segment(mimalloc, heap, &mimalloc->segment[i]);
	return r;
}

/* --- the result --------------------------------------------------------------- */

/* Could it be that a thread just changes the heap, so that another picture will do? */
static bool in_allocator(const struct mimalloc *mimalloc)
{
	const struct picture *picture = mimalloc->picture;

	for (size_t i = 0; i < picture->thread_count; i++) {
		const struct user_regs_struct *registers = &picture->thread[i].registers;
		uint64_t word[1 + NEAR_BYTES / 8] = { registers->rip };
		size_t got = picture_read_some(picture, registers->rsp & ~7ull, word + 1,
					       NEAR_BYTES);

		/* Or in what it has called, such as munmap. */
		for (size_t j = 0; j < 1 + got / 8; j++) {
			if (word[j] >= mimalloc->code_low && word[j] < mimalloc->code_high)
				return true;
		}
	}
	return false;
}

static void take_version(const struct mimalloc *mimalloc, struct heap_result *ret)
{
	unsigned int version = mimalloc->version;

	if (version > 1 && version < 1000)
		snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", version / 100,
			 version / 10 % 10, version % 10);
	/* From 2.1.0 on or later there are two digits for each. */
	else if (version > 1 && version < 1000000)
		snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", version / 10000,
			 version / 100 % 100, version % 100);
	else if (mimalloc->layout && !version)
		snprintf(ret->version, sizeof(ret->version), "2.0.9 or one like it");
}

static void take_sums(const struct mimalloc *mimalloc, struct heap_result *ret)
{
	ret->live_count += mimalloc->sums.live_count;
	ret->live_bytes += mimalloc->sums.live_bytes;
	ret->free_count += mimalloc->sums.free_count;
	ret->free_bytes += mimalloc->sums.free_bytes;
	ret->arenas += mimalloc->heap_count;
}

static void take_failure(const struct mimalloc *mimalloc, int error, struct heap_result *ret)
{
	bool torn = error == -EAGAIN && in_allocator(mimalloc);

	ret->cover = torn ? HEAP_TORN : HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "%s%s",
		 torn ? "a thread was inside malloc: " : "", mimalloc->why);
}

/* 0, -ENOMEM; ret says the rest. */
static int check_all(struct mimalloc *mimalloc, int count, struct heap_result *ret)
{
	for (int i = 0; i < count; i++) {
		int r = check_known(&mimalloc[i]);

		if (r == -ENOMEM)
			return r;
		take_version(&mimalloc[i], ret);
		if (r < 0) {
			take_failure(&mimalloc[i], r, ret);
			return 0;
		}
		take_sums(&mimalloc[i], ret);
	}
	ret->cover = HEAP_COVERED;
	return 0;
}

/* What was found to be sound. 0 or -ENOMEM; that it can't be added is not to be expected. */
static int add_all(struct mimalloc *mimalloc, int count, struct heap *heap,
		   struct heap_result *ret)
{
	int r = check_apart(mimalloc, count, heap);

	if (r < 0)
		return r;
	for (int i = 0; i < count && r > 0; i++)
		r = heap_mimalloc_add(&mimalloc[i], heap) ?: 1;
	if (r > 0 || r == -ENOMEM)
		return r > 0 ? 0 : r;
	ret->cover = HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "the heap overlaps another one");
	return 0;
}

int heap_walk_mimalloc(const struct picture *picture, const struct modules *modules,
		       struct heap *heap, struct heap_result *ret)
{
	_cleanup_free_ struct mimalloc *mimalloc = calloc(MIMALLOC_MAX, sizeof(*mimalloc));
	int count, r = -ENOMEM;

	*ret = (struct heap_result){ .allocator = "mimalloc" };
	if (!mimalloc)
		return -ENOMEM;
	count = mimalloc_find(picture, modules, mimalloc, MIMALLOC_MAX);
	if (count <= 0)
		return count;
	r = check_all(mimalloc, count, ret);
	if (r == 0 && ret->cover == HEAP_COVERED)
		r = add_all(mimalloc, count, heap, ret);
	for (int i = 0; i < count; i++)
		mimalloc_done(&mimalloc[i]);
	return r;
}
