/* SPDX-License-Identifier: MIT */
/* ranges.c - see ranges.h: an array, sorted once, searched by halving. */
#include "src/base/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/array.h"

int ranges_add(struct ranges *ranges, uint64_t low, uint64_t high)
{
	size_t room = ranges->room ? ranges->room * 2 : 32;
	struct range *grown;

	if (low >= high)
		return -EINVAL;
	if (ranges->count == ranges->room) {
		grown = reallocarray(ranges->range, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		ranges->range = grown;
		ranges->room = room;
	}
	ranges->range[ranges->count++] = (struct range){ low, high };
	return 0;
}

static int by_low(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

void ranges_normalize(struct ranges *ranges)
{
	size_t kept = 0;

	if (!ranges->count)
		return;
	qsort(ranges->range, ranges->count, sizeof(*ranges->range), by_low);
	for (size_t i = 1; i < ranges->count; i++) {
		struct range *last = &ranges->range[kept];
		const struct range *r = &ranges->range[i];

		if (r->low > last->high)
			ranges->range[++kept] = *r;
		else if (r->high > last->high)
			last->high = r->high;
	}
	ranges->count = kept + 1;
}

/* The first range that ends above address; count if there is none. */
static size_t first_above(const struct ranges *ranges, uint64_t address)
{
	return ARRAY_BISECT(ranges->count, i, ranges->range[i].high <= address);
}

const struct range *ranges_at_or_above(const struct ranges *ranges, uint64_t address)
{
	size_t i = first_above(ranges, address);

	return i < ranges->count ? &ranges->range[i] : NULL;
}

bool ranges_contain(const struct ranges *ranges, uint64_t address)
{
	size_t i = first_above(ranges, address);

	return i < ranges->count && ranges->range[i].low <= address;
}

int ranges_outside(const struct ranges *ranges, uint64_t low, uint64_t high,
		   int (*each)(void *context, uint64_t low, uint64_t high), void *context)
{
	int result = 0;

	for (size_t i = first_above(ranges, low);
	     !result && low < high && i < ranges->count && ranges->range[i].low < high; i++) {
		if (low < ranges->range[i].low)
			result = each(context, low, ranges->range[i].low);
		low = ranges->range[i].high;
	}
	return result || low >= high ? result : each(context, low, high);
}

void ranges_done(struct ranges *ranges)
{
	free(ranges->range);
	*ranges = (struct ranges){ 0, 0, NULL };
}
