/* SPDX-License-Identifier: MIT */
/*
 * graph_filter.h - a fast "surely not" for words that may point into wanted blocks.
 *
 * Two bit tables by a hash of the 64-byte line and of the 4 KiB page that a word points to; large
 * blocks are in the second only.
 */
#ifndef MEMATTACH_LEAK_GRAPH_FILTER_H
#define MEMATTACH_LEAK_GRAPH_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FILTER_LINE_BITS	21u
#define FILTER_PAGE_BITS	18u
#define FILTER_SMALL		4096u	/* bytes of the largest block that is kept by lines */

struct graph_filter {
	uint64_t low, high;	/* of all that was added */
	uint64_t line[(1u << FILTER_LINE_BITS) / 64];
	uint64_t page[(1u << FILTER_PAGE_BITS) / 64];
};

static inline void filter_clear(struct graph_filter *filter)
{
	memset(filter, 0, sizeof(*filter));
	filter->low = UINT64_MAX;
}

static inline uint64_t filter_hash(uint64_t key, unsigned int bits)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
}

static inline void filter_set(uint64_t *table, uint64_t bit)
{
	table[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* bytes > 0, and no overflow. */
static inline void filter_add(struct graph_filter *filter, uint64_t address, uint64_t bytes)
{
	uint64_t last = address + bytes - 1;
	bool small = bytes <= FILTER_SMALL;
	uint64_t steps = small ? (last >> 6) - (address >> 6) : (last >> 12) - (address >> 12);

	if (steps >= 1u << FILTER_PAGE_BITS) {	/* larger than the table: everything may be in it */
		memset(filter->page, 0xff, sizeof(filter->page));
		steps = 0;
	}
	for (uint64_t i = 0; i <= steps; i++) {
		if (small)
			filter_set(filter->line, filter_hash((address >> 6) + i, FILTER_LINE_BITS));
		else
			filter_set(filter->page,
				   filter_hash((address >> 12) + i, FILTER_PAGE_BITS));
	}
	if (address < filter->low)
		filter->low = address;
	if (last >= filter->high)
		filter->high = last + 1;
}

static inline bool filter_may_hold(const struct graph_filter *filter, uint64_t word)
{
	uint64_t line, page;

	if (word - filter->low >= filter->high - filter->low)
		return false;
	line = filter_hash(word >> 6, FILTER_LINE_BITS);
	page = filter_hash(word >> 12, FILTER_PAGE_BITS);
	return (filter->line[line / 64] >> line % 64 | filter->page[page / 64] >> page % 64) & 1;
}

#endif
