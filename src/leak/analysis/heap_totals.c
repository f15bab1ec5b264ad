/* SPDX-License-Identifier: MIT */
/* heap_totals.c - see heap_totals.h. Arenas are glibc's alone: heap_glibc_figures.c. */
#include "src/leak/analysis/heap_totals.h"

#include <math.h>
#include <string.h>

#include "src/leak/blocks/block_map.h"
#include "src/memory/regions.h"

/* By its arenas and mappings where they are known, else by where its blocks lie. */
static struct heap_sum memory_of(struct heap *heap, const struct heap_total *total, size_t begin)
{
	struct heap_sum sum = total->mapped;

	if (total->has_arenas) {
		struct heap_arena arenas = heap_figures_sum(heap->figures, &heap->figures_heap);

		heap_sum_add(&sum, &(struct heap_sum){ arenas.stretches, arenas.system_bytes,
						       arenas.resident });
		return sum;
	}
	for (size_t i = begin; i < heap->blocks->segment_count; i++) {
		const struct segment *s = &heap->blocks->segment[i];

		heap_sum_add(&sum, &(struct heap_sum){
			1, s->high - s->low, residency_bytes(&heap->residency, s->low, s->high) });
	}
	return sum;
}

void heap_totals_note(struct heap *heap, const struct heap_result *result, size_t begin)
{
	struct heap_figures *figures = heap->figures;
	struct heap_total *total = &figures->heap[heap->figures_heap];

	if (result->cover == HEAP_ABSENT)
		return;
	total->covered = result->cover == HEAP_COVERED;
	memcpy(total->allocator, result->allocator, sizeof(total->allocator));
	memcpy(total->version, result->version, sizeof(total->version));
	memcpy(total->why, result->why, sizeof(total->why));
	if (total->covered) {
		total->has_arenas = strcmp(total->allocator, "glibc") == 0;
		total->arena_count = result->arenas;
		total->live = (struct heap_sum){ result->live_count, result->live_bytes, 0 };
		total->free = (struct heap_sum){ result->free_count, result->free_bytes, 0 };
		total->memory = memory_of(heap, total, begin);
	}
	if (figures->heap_count < HEAP_FIGURES_HEAPS - 1)
		figures->heap_count++;
	heap->figures_heap = (uint32_t)figures->heap_count;
}

struct booking {
	const struct blocks *blocks;
	bool estimated;
	double count, asked, usable, other_count, other_bytes;
};

static void book(void *context, const struct analysis_known *known)
{
	struct booking *b = context;
	double weight = isfinite(known->weight) && known->weight > 1 ? known->weight : 1;
	struct block block;

	b->estimated |= weight > 1;
	if (blocks_find(b->blocks, known->address, &block)) {
		b->count += weight;
		b->asked += weight * (double)known->bytes;
		b->usable += weight * (double)(block.address + block.bytes - known->address);
	} else {
		b->other_count += weight;
		b->other_bytes += weight * (double)known->bytes;
	}
}

static uint64_t whole(double value)
{
	return value < 0x1p63 ? (uint64_t)(value + 0.5) : 1ull << 63;
}

void heap_totals_books(struct heap *heap, const struct analysis_input *input)
{
	struct booking b = { .blocks = heap->blocks };

	if (!input->each_known)
		return;
	input->each_known(input->context, book, &b);
	heap->figures->books = (struct heap_books){
		.known = true, .estimated = b.estimated, .count = whole(b.count),
		.asked_bytes = whole(b.asked), .usable_bytes = whole(b.usable),
		.other_count = whole(b.other_count), .other_bytes = whole(b.other_bytes),
	};
}

int heap_totals_memory(const struct heap *heap, struct ranges *ret)
{
	int error = 0;

	ret->count = 0;
	for (size_t i = 0; !error && i < heap->blocks->segment_count; i++)
		error = ranges_add(ret, heap->blocks->segment[i].low,
				   heap->blocks->segment[i].high);
	for (size_t i = 0; !error && i < heap->own.count; i++)
		error = ranges_add(ret, heap->own.range[i].low, heap->own.range[i].high);
	ranges_normalize(ret);
	return error;
}
