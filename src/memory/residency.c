/* SPDX-License-Identifier: MIT */
/* residency.c - see residency.h. A heap is mostly one range, so that the last one mostly fits. */
#include "src/memory/residency.h"

uint64_t residency_search(struct residency *residency, uint64_t low, uint64_t high)
{
	const struct ranges *present = residency->present;
	const struct range *r = present ? ranges_at_or_above(present, low) : NULL;
	uint64_t bytes = 0;

	for (; r && r < present->range + present->count && r->low < high; r++) {
		bytes += (r->high < high ? r->high : high) - (r->low > low ? r->low : low);
		residency->last = *r;
	}
	return bytes;
}
