/* SPDX-License-Identifier: MIT */
/*
 * live_gap.c - after a time in which nothing was recorded: live_lose_track.
 *
 * A block whose free was missed would live for ever, and its address give its site to another
 * block: to know less is better. Mappings stay: few come and go, and maps show them.
 */
#include "src/live/live_private.h"

static void lose_block(struct live *live, uint32_t at, uint64_t now)
{
	const struct block *block = &live->block[at];
	struct site_change change;

	live_change(block, &change);
	change.time = now;
	sites_lose(live->sites, live_site(live, block), &change);
	pair_lose(pairs_at(live->pairs, block->pair), &change.term);
	estimate_add(&live->thread[block->thread].gone, &change.term);
	live_release(live, at);
}

void live_lose_track(struct live *live, uint64_t now)
{
	for (uint32_t i = 0; i < live->block_count; i++)
		if (live->block[i].address != 0)
			lose_block(live, i, now);
	for (uint32_t i = 0; i < live->thread_count; i++)
		for (int k = 0; k < LIVE_REALLOCS; k++)
			live->thread[i].realloc[k].pending = false;
	live->live_count = live->pending_count = 0;
	live->complete = false;		/* what was allocated in the gap looks like no block */
	hashmap_done(&live->addresses);
	if (live->freed)
		freed_clear(live->freed);
}
