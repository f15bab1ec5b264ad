/* SPDX-License-Identifier: MIT */
/*
 * live_ahead.c - fetches what an event that will come soon will need (reader_foresee).
 *
 * A block is found through three places, of which each leads to the next: its place in the table
 * of addresses, the block itself or the mark of one that was freed there, and what these
 * lead to. Each stage fetches one, while the one that was fetched a stage ago has arrived.
 * All of it is a guess: what is looked at may change before the event comes.
 */
#include "src/live/live_private.h"

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

void live_foresee(const struct live *live, unsigned int stage, uint64_t address)
{
	uint64_t value;

	if (stage == 0) {
		hashmap_foresee(&live->addresses, address);
		return;
	}
	if (!hashmap_glance(&live->addresses, address, &value))
		return;
	if (value & MARK)
		freed_foresee(live->freed, (uint32_t)(value >> 1), stage > 1);
	else if (stage == 1)
		fetch_block(live, value >> 1);
	else
		fetch_pair(live, value >> 1);
}
