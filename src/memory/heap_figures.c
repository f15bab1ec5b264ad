/* SPDX-License-Identifier: MIT */
/* heap_figures.c - see heap_figures.h. */
#include "src/memory/heap_figures.h"

#include <errno.h>

#include "src/memory/regions.h"

const char *heap_part_name(enum heap_part part)
{
	static const char *const name[HEAP_PARTS] = {
		"used", "tcache", "fast", "unsorted", "small", "large", "top", "own",
	};

	return part < HEAP_PARTS ? name[part] : "unknown";
}

void heap_sum_add(struct heap_sum *to, const struct heap_sum *from)
{
	to->count = memory_sum(to->count, from->count);
	to->bytes = memory_sum(to->bytes, from->bytes);
	to->resident = memory_sum(to->resident, from->resident);
}

int heap_figures_new(struct heap_figures **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void heap_figures_clear(struct heap_figures *figures)
{
	free(figures->arena);
	free(figures->bin);
	free(figures->thread);
	*figures = (struct heap_figures){ .heap_count = 0 };
}

void heap_figures_free(struct heap_figures *figures)
{
	if (!figures)
		return;
	heap_figures_clear(figures);
	free(figures);
}

/* Full at every power of two. */
static void *grow(void *array, size_t count, size_t size)
{
	return (count & (count - 1)) == 0 ? reallocarray(array, count ? count * 2 : 1, size) :
					    array;
}

#define GROW(array, count) ({ \
	void *grown_ = grow(array, count, sizeof(*(array))); \
	if (grown_) \
		(array) = grown_; \
	grown_ != NULL; \
})

struct heap_arena *heap_figures_add_arena(struct heap_figures *figures)
{
	if (!GROW(figures->arena, figures->arena_count))
		return NULL;
	figures->arena[figures->arena_count] = (struct heap_arena){ .heap = 0 };
	return &figures->arena[figures->arena_count++];
}

struct heap_thread *heap_figures_add_thread(struct heap_figures *figures)
{
	if (!GROW(figures->thread, figures->thread_count))
		return NULL;
	figures->thread[figures->thread_count] = (struct heap_thread){ .heap = 0 };
	return &figures->thread[figures->thread_count++];
}

int heap_figures_add_bin(struct heap_figures *figures, const struct heap_bin *bin)
{
	if (figures->bin_count == HEAP_FIGURES_BINS) {
		figures->bins_left_out++;
		return 0;
	}
	if (!GROW(figures->bin, figures->bin_count))
		return -ENOMEM;
	figures->bin[figures->bin_count++] = *bin;
	return 0;
}

struct heap_arena heap_figures_sum(const struct heap_figures *figures, const uint32_t *heap)
{
	struct heap_arena sum = { .address = 0 };

	for (size_t i = 0; i < figures->arena_count; i++) {
		const struct heap_arena *a = &figures->arena[i];

		if (heap && a->heap != *heap)
			continue;
		sum.system_bytes = memory_sum(sum.system_bytes, a->system_bytes);
		sum.max_system_bytes = memory_sum(sum.max_system_bytes, a->max_system_bytes);
		sum.stretches = memory_sum(sum.stretches, a->stretches);
		sum.attached = a->attached == HEAP_UNKNOWN ? HEAP_UNKNOWN :
							     memory_sum(sum.attached, a->attached);
		sum.resident = memory_sum(sum.resident, a->resident);
		sum.trimmable = memory_sum(sum.trimmable, a->trimmable);
		for (int part = 0; part < HEAP_PARTS; part++)
			heap_sum_add(&sum.part[part], &a->part[part]);
	}
	return sum;
}
