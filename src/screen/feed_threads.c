/* SPDX-License-Identifier: MIT */
/*
 * feed_threads.c - the target's threads, those that allocated most first. Their ids: see
 * live/thread_ids.c.
 */
#include <errno.h>

#include "src/live/thread_ids.h"
#include "src/screen/feed_private.h"

static int by_bytes(const void *a, const void *b)
{
	const struct screen_thread *x = a, *y = b;

	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static struct screen_thread thread_of(const struct feed_figures *figures, uint32_t number)
{
	struct live_thread_figures from = live_thread_figures(figures->live, number);

	return (struct screen_thread){
		.number = number + 1, .alloc_count = from.alloc_count,
		.alloc_bytes = from.alloc_bytes, .free_count = from.free_count,
		.freed_others = from.freed_others,
		.last_time = ticks_seconds(figures->ticks, from.last),
	};
}

int feed_put_threads(struct apart_answer *to, const struct feed_figures *figures, uint32_t count)
{
	uint32_t total = live_threads(figures->live);
	_cleanup_free_ struct screen_thread *thread = calloc((size_t)total + 1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	for (uint32_t i = 0; i < total; i++)
		thread[i] = thread_of(figures, i);
	qsort(thread, total, sizeof(*thread), by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t pointer = live_thread_figures(figures->live, thread[i].number - 1).pointer;

		thread[i].tid = thread_ids_read(figures->memory, pointer);
	}
	return apart_put(to, thread, count * sizeof(*thread));
}
