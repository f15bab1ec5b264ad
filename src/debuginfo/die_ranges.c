/* SPDX-License-Identifier: MIT */
/* die_ranges.c - see die_ranges.h. */
#include "src/debuginfo/die_ranges.h"

#include <errno.h>

#include "src/base/array.h"

#define MAX_RANGES	(16u << 20)
#define MAX_OUTER	8u	/* how many starts to look back for one that holds the address */

int die_ranges_add(struct die_ranges *ranges, Dwarf_Die *die, size_t index)
{
	struct die_range new = { .index = index };
	ptrdiff_t offset = 0;
	Dwarf_Addr base;

	while ((offset = dwarf_ranges(die, offset, &base, &new.low, &new.high)) > 0) {
		struct die_range *range;

		if (new.low >= new.high || ranges->count >= MAX_RANGES)
			continue;
		range = array_room(ranges->range, sizeof(*range), ranges->count, &ranges->room);
		if (!range)
			return -ENOMEM;
		ranges->range = range;
		range[ranges->count++] = new;
	}
	return 0;
}

static int by_low(const void *left, const void *right)
{
	const struct die_range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

void die_ranges_sort(struct die_ranges *ranges)
{
	if (ranges->count > 0)
		qsort(ranges->range, ranges->count, sizeof(*ranges->range), by_low);
}

const struct die_range *die_ranges_find(const struct die_ranges *ranges, uint64_t pc)
{
	size_t low = ARRAY_BISECT(ranges->count, i, ranges->range[i].low <= pc);

	for (unsigned int looked = 0; low > 0 && looked < MAX_OUTER; looked++)
		if (pc < ranges->range[--low].high)
			return &ranges->range[low];
	return NULL;
}

void die_ranges_done(struct die_ranges *ranges)
{
	free(ranges->range);
	*ranges = (struct die_ranges){ .range = NULL };
}
