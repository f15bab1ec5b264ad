/* SPDX-License-Identifier: MIT */
/*
 * mark_index.c - see mark_index.h.
 *
 * A hash table of the MiB in which segments lie; a cell names its segments, nearly always one.
 * Rejected: halving over all segments (a mapping for each large block makes thousands of them),
 * and a flat table over the address space (hostile maps could make it as large as they like).
 */
#include "src/leak/mark/mark_index.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t slot_of(const struct mark_index *index, uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u >> 32 & index->mask;
}

static struct cell *cell_find(const struct mark_index *index, uint64_t key)
{
	uint64_t slot = slot_of(index, key);

	while (index->cell[slot].key && index->cell[slot].key != key)
		slot = (slot + 1) & index->mask;
	return &index->cell[slot];
}

static uint64_t first_key(const struct window *window)
{
	return (window->low >> CELL_SHIFT) + 1;
}

static uint64_t last_key(const struct window *window)
{
	return ((window->high - 1) >> CELL_SHIFT) + 1;
}

static void fill_windows(struct mark_index *index, const struct blocks *map)
{
	for (size_t i = 0; i < map->segment_count; i++) {
		const struct segment *s = &map->segment[map->sorted[i]];

		index->window[i] =
			(struct window){ s->low, s->high, s->base, s->first, s->shift, 0 };
		if (i && s->low - index->window[i - 1].high > index->gap_span) {
			index->gap = index->window[i - 1].high;
			index->gap_span = s->low - index->gap;
		}
	}
	index->low = index->window[0].low;
	index->span = index->window[map->segment_count - 1].high - index->low;
}

static int make_cells(struct mark_index *index, size_t windows)
{
	uint64_t cells = 0, slots = 16;

	for (size_t i = 0; i < windows; i++)
		cells += last_key(&index->window[i]) - first_key(&index->window[i]) + 1;
	while (slots < cells * 2)
		slots *= 2;
	index->cell = calloc(slots, sizeof(*index->cell));
	index->mask = slots - 1;
	return index->cell ? 0 : -ENOMEM;
}

static void fill_cells(struct mark_index *index, uint32_t windows)
{
	for (uint32_t i = 0; i < windows; i++) {
		const struct window *window = &index->window[i];

		for (uint64_t key = first_key(window); key <= last_key(window); key++) {
			struct cell *cell = cell_find(index, key);

			if (!cell->key)
				*cell = (struct cell){ (uint32_t)key, i, i };
			cell->to = i;
		}
	}
}

int mark_index_init(struct mark_index *index, const struct blocks *map)
{
	int error;

	*index = (struct mark_index){ 0 };
	if (!map->segment_count)
		return 0;
	index->window = calloc(map->segment_count, sizeof(*index->window));
	if (!index->window)
		return -ENOMEM;
	fill_windows(index, map);
	error = make_cells(index, map->segment_count);
	if (error) {
		mark_index_done(index);
		return error;
	}
	fill_cells(index, (uint32_t)map->segment_count);
	return 0;
}

void mark_index_done(struct mark_index *index)
{
	free(index->window);
	free(index->cell);
	*index = (struct mark_index){ 0 };
}

uint64_t mark_index_place(const struct mark_index *index, uint64_t pointer)
{
	const struct cell *cell = cell_find(index, (pointer >> CELL_SHIFT) + 1);
	uint32_t low = cell->from, high = cell->to;
	const struct window *window;
	uint64_t offset;

	if (!cell->key)
		return BLOCK_NONE;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (index->window[middle].high > pointer)
			high = middle;
		else
			low = middle + 1;
	}
	window = &index->window[low];
	if (pointer < window->low || pointer >= window->high)
		return BLOCK_NONE;
	offset = pointer - window->base;
	return (window->first + (offset >> window->shift)) << 4 |
	       (offset & ((1u << window->shift) - 1));
}
