/* SPDX-License-Identifier: MIT */
/*
 * live_ahead.c - fetches what an event that will come soon will need (reader_foresee).
 *
 * A block is found through places of which each leads to the next: its place in the table of
 * addresses; the block itself or the mark of one that was freed there; what these lead to; and of
 * a block the site where its end will be booked. Each stage fetches one, while the one that was
 * fetched a stage ago has arrived.
 * All of it is a guess: what is looked at may change before the event comes.
 * Rejected: a fifth stage for the lifetimes of the site; it cost what it saved (they are added to
 * a little later instead: lifetimes.h).
 */
#include "src/live/live_private.h"

#define MANY_SITES	1024u

static void fetch_block(const struct live *live, uint64_t at)
{
	if (at >= live->block_count)
		return;
	__builtin_prefetch(&live->block[at], 1);
	__builtin_prefetch(&live->block[at].pair, 1);
}

static void fetch_pair(const struct live *live, uint64_t at)
{
	if (at < live->block_count && live->block[at].address != 0)
		__builtin_prefetch(pairs_at(live->pairs, live->block[at].pair), 1);
}

/* The site of a block, where there are so many that they don't stay in the caches by themselves. */
static uint32_t site_of(const struct live *live, uint64_t at)
{
	if (sites_places(live->sites) < MANY_SITES || at >= live->block_count ||
	    live->block[at].address == 0)
		return 0;
	return pairs_at(live->pairs, live->block[at].pair)->site;
}

static void fetch_at(const struct live *live, unsigned int stage, uint64_t at)
{
	switch (stage) {
	case 1:
		fetch_block(live, at);
		return;
	case 2:
		fetch_pair(live, at);
		return;
	default:
		sites_foresee_end(live->sites, site_of(live, at));
	}
}

void live_foresee(const struct live *live, unsigned int stage, uint64_t address, uint64_t *found)
{
	uint64_t value;

	if (stage == 0)
		hashmap_foresee(&live->addresses, address);
	else if (stage == 1 && hashmap_glance(&live->addresses, address, &value))
		*found = value + 1;
	if (*found == 0)
		return;
	value = *found - 1;
	if (!(value & MARK))
		fetch_at(live, stage, value >> 1);
	else if (stage < 3)
		freed_foresee(live->freed, (uint32_t)(value >> 1), stage == 2);
}
