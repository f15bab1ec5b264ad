/* SPDX-License-Identifier: MIT */
/*
 * heap_musl.c - all live blocks of musl's mallocng, read from outside: heap_walk_musl.
 *
 * The allocator keeps its books apart from the blocks, in pages that begin with a secret. All
 * groups of slots are read from there, checked against the context's totals and against each
 * other, then every slot is looked at; only then all is gone through again and handed on, as
 * in heap_glibc.c. The lock was rejected as a witness: a single thread never takes it, it
 * is held by somebody all the time under load, and what it guards is whole all the same.
 * Most is changed without it: realloc moves a mapping, malloc and free write headers.
 */
#include "src/heap/musl/heap_musl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int musl_fail(struct musl *musl, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(musl->why, sizeof(musl->why), format, args);
	va_end(args);
	return error;
}

static void musl_done(struct musl *musl)
{
	free(musl->group);
	ranges_done(&musl->areas);
	ranges_done(&musl->segments);
	heap_pages_done(&musl->pages);
}

/* Could it be that a thread just changes the heap, so that another picture will do? */
static bool in_allocator(const struct musl *musl)
{
	for (size_t i = 0; i < musl->picture->thread_count; i++) {
		if (musl_is_inside(musl, &musl->picture->thread[i]))
			return true;
	}
	return false;
}

static void take_failure(const struct musl *musl, int error, struct heap_result *ret)
{
	bool is_torn = error == -EAGAIN && in_allocator(musl);

	ret->cover = is_torn ? HEAP_TORN : HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "%s%s",
		 is_torn ? "a thread was inside malloc: " : "", musl->why);
}

static void take_sums(const struct musl *musl, struct heap_result *ret)
{
	ret->live_count = musl->sums.live_count;
	ret->live_bytes = musl->sums.live_bytes;
	ret->free_count = musl->sums.free_count;
	ret->free_bytes = musl->sums.free_bytes;
	ret->arenas = 1;
	ret->mmapped = musl->sums.mapped;
}

/* 1: no other allocator's blocks lie where these do. */
static int is_alone(const struct musl *musl, struct heap *heap)
{
	const struct ranges *others = blocks_segments(heap->blocks);

	if (!others)
		return -ENOMEM;
	for (size_t i = 0; i < musl->segments.count; i++) {
		const struct range *mine = &musl->segments.range[i];
		const struct range *other = ranges_at_or_above(others, mine->low);

		if (other && other->low < mine->high)
			return 0;
	}
	return 1;
}

static int add_all(struct musl *musl, struct heap *heap)
{
	int r = ranges_add(&heap->own, musl->context, musl->context + MUSL_CONTEXT_BYTES);

	for (size_t i = 0; i < musl->areas.count && r == 0; i++)
		r = ranges_add(&heap->own, musl->areas.range[i].low, musl->areas.range[i].high);
	for (size_t i = 0; i < musl->segments.count && r == 0; i++)
		r = blocks_add_segment(heap->blocks, musl->segments.range[i].low,
				       musl->segments.range[i].high, MUSL_UNIT);
	return r ? r : musl_walk_slots(musl, heap);
}

/* What was found to be sound. 0 or -ENOMEM; that it can't be added is not to be expected. */
static int heap_musl_add(struct musl *musl, struct heap *heap, struct heap_result *ret)
{
	int r = is_alone(musl, heap);

	if (r > 0)
		r = add_all(musl, heap) ?: 1;
	if (r > 0 || r == -ENOMEM) {
		take_sums(musl, ret);
		return r > 0 ? 0 : r;
	}
	ret->cover = HEAP_NOT_COVERED;
	snprintf(ret->why, sizeof(ret->why), "the heap overlaps another one");
	return 0;
}

static int walk(struct musl *musl, struct heap *heap, struct heap_result *ret)
{
	int r = heap_pages_init(&musl->pages, musl->picture);

	musl_look_at_hands(musl);
	if (r == 0)
		r = musl_read_groups(musl);
	if (r == 0)
		r = musl_walk_slots(musl, NULL);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		take_failure(musl, r, ret);
		return 0;
	}
	ret->cover = HEAP_COVERED;
	return heap_musl_add(musl, heap, ret);
}

int heap_walk_musl(const struct picture *picture, const struct modules *modules,
		   struct heap *heap, struct heap_result *ret)
{
	_cleanup_(musl_done) struct musl musl = { .picture = picture };
	int r = musl_find(picture, modules, &musl);

	*ret = (struct heap_result){ .allocator = "musl" };
	if (r == MUSL_OLDMALLOC) {
		ret->cover = HEAP_NOT_COVERED;
		snprintf(ret->version, sizeof(ret->version), "before 1.2.1");
		snprintf(ret->why, sizeof(ret->why),
			 "musl's allocator from before 1.2.1 keeps no list of its memory");
	}
	if (r != MUSL_MALLOCNG)
		return r < 0 ? r : 0;
	if (!musl_version(&musl, modules, ret->version, sizeof(ret->version)))
		snprintf(ret->version, sizeof(ret->version), "1.2.1 or later");
	return walk(&musl, heap, ret);
}
