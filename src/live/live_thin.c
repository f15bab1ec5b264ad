/* SPDX-License-Identifier: MIT */
/*
 * live_thin.c - more blocks live than there is memory to remember each: a sample of them is kept.
 *
 * A block of x bytes is kept with the chance 1 - exp(-x/I), as the shim draws with --sample=I, and
 * stands for 1 / that chance: so large ones stay themselves, and every figure of what lives has an
 * interval, by the formulas of sampled sessions (estimate.h). When there are too many again, I
 * doubles, and those that were kept are drawn once more, with the ratio of both chances: what
 * is left is what would have been drawn with the larger I at once.
 * What is allocated is counted before it is drawn and stays exact; what was freed is what was
 * allocated and does not live, an estimate by that.
 * Rejected: no longer to book new blocks (what leaks after an hour would be missed), to forget
 * the oldest (the leaks are there), to keep addresses only (a free must know its block's site).
 */
#include "src/live/live_evict.h"
#include "src/live/live_private.h"

#define FIRST_INTERVAL	16u
#define LAST_INTERVAL	(1ull << 40)
#define LOOKED_AT	4096u	/* blocks from which is told how many would stay */
#define KEEP		0.5
#define LOOK_AHEAD	16u	/* blocks whose places in the table are fetched */

static double chance(const struct live *live)
{
	return (double)(live->random >> 11) * 0x1p-53;
}

static uint64_t next_random(struct live *live)
{
	live->random ^= live->random << 13;
	live->random ^= live->random >> 7;
	live->random ^= live->random << 17;
	return live->random;
}

/* Of those drawn with the first interval, is one of this size drawn with the second, too? */
static double stays(uint64_t size, uint64_t first, uint64_t second)
{
	return first >= second ? 1.0 : estimate_weight(size, first) / estimate_weight(size, second);
}

static bool draw(struct live *live, uint64_t size, uint64_t first)
{
	(void)next_random(live);
	return chance(live) < stays(size, first, live->thinning.interval);
}

bool live_draw(struct live *live, uint32_t at, struct site_change *change)
{
	struct block *block = &live->block[at];
	bool kept = draw(live, block->size, block->interval);

	change->thinned = true;
	if (kept) {
		block->interval = live->thinning.interval;
		change->lives = estimate_term(block->size, block->interval);
		return true;
	}
	live->thinning.blocks++;
	live->thinning.bytes += block->size;
	return false;
}

/* Which part of the blocks would stay. */
static double part_kept(const struct live *live, uint64_t interval)
{
	uint32_t step = live->block_count / LOOKED_AT + 1u, count = 0;
	double kept = 0;

	for (uint32_t i = 0; i < live->block_count; i += step) {
		const struct block *block = &live->block[i];

		if (block->address == 0)
			continue;
		kept += stays(block->size, block->interval, interval);
		count++;
	}
	return count ? kept / count : 0;
}

static void thin_block(struct live *live, uint32_t at)
{
	struct block *block = &live->block[at];
	struct site_change before, after;
	bool kept;

	if (block->interval >= live->thinning.interval)
		return;
	live_change(block, &before);
	kept = draw(live, block->size, block->interval);
	block->interval = live->thinning.interval;
	live_change(block, &after);
	sites_thin(live->sites, live_site(live, block), &before, kept ? &after : NULL);
	if (kept)
		return;
	live->thinning.blocks++;
	live->thinning.bytes += block->size;
	hashmap_remove(&live->addresses, block->address, NULL);
	live_release(live, at);
	live->live_count--;
}

/* A block whose realloc is under way is off its address: it is drawn next time. */
static bool is_at_address(const struct live *live, uint32_t at)
{
	uint64_t value;

	return live->block[at].address != 0 &&
	       hashmap_get(&live->addresses, live->block[at].address, &value) &&
	       value == (uint64_t)at << 1;
}

void live_thin(struct live *live)
{
	uint64_t interval = live->thinning.interval ? live->thinning.interval * 2u :
						      FIRST_INTERVAL;

	while (interval < LAST_INTERVAL && part_kept(live, interval) > KEEP)
		interval *= 2u;
	if (live->random == 0)
		live->random = hashmap_hash((uint64_t)(uintptr_t)live ^ live->events.alloc) | 1u;
	live->thinning.interval = interval;
	live->thinning.times++;
	/* What is not in the table may be a block that was not kept. */
	live->exact = live->complete = live->every_alloc = false;
	for (uint32_t i = 0; i < live->block_count; i++) {
		if (live->block_count - i > LOOK_AHEAD)
			hashmap_foresee(&live->addresses, live->block[i + LOOK_AHEAD].address);
		if (is_at_address(live, i))
			thin_block(live, i);
	}
}

struct live_thinning live_thinning(const struct live *live)
{
	return live->thinning;
}
