/* SPDX-License-Identifier: MIT */
/*
 * feed_threads.c - the target's threads, those that allocated most first.
 *
 * Threads are told apart by their thread pointer. Which id one has stands in its control block:
 * glibc has it at the same place since 2.3 (x86-64), behind two words that point to the
 * block itself. Who is no glibc, or has ended meanwhile, gets no id rather than a wrong one.
 */
#include <errno.h>

#include "src/screen/feed_private.h"

#define SELF_WORD	2u		/* header.self */
#define TID_OFFSET	0x2d0u

static uint32_t tid_of(const struct elf_reader *memory, uint64_t pointer)
{
	uint64_t word[SELF_WORD + 1];
	uint32_t tid;

	if (memory->read(memory->context, pointer, word, sizeof(word)) ||
	    word[0] != pointer || word[SELF_WORD] != pointer ||
	    memory->read(memory->context, pointer + TID_OFFSET, &tid, sizeof(tid)))
		return 0;
	return tid <= INT32_MAX ? tid : 0;
}

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

		thread[i].tid = tid_of(figures->memory, pointer);
	}
	return apart_put(to, thread, count * sizeof(*thread));
}
