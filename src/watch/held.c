/* SPDX-License-Identifier: MIT */
/* held.c - see held.h. */
#include "src/watch/held.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void held_look(struct held *held, uint64_t data)
{
	if (!data)
		return;
	if (!held->first)
		held->first = data;
	held->before = held->last;
	held->last = data;
	held->most = larger(held->most, data);
}

uint64_t held_now(const struct held *held)
{
	return larger(held->before, held->last);
}

uint64_t held_peak(const struct held *held, const struct sites *sites)
{
	uint64_t mapped = estimate_level_bytes(sites_allocator_maps(sites)->peak_level) +
			  estimate_level_bytes(sites_totals(sites, SITE_MMAP)->peak_level);

	return held->first ? larger(held->most, held->first + mapped) : 0;
}
