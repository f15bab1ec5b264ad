/* SPDX-License-Identifier: MIT */
/*
 * live_wrong.c - is the free of an address where no block is known to live a wrong one?
 *
 * A verdict needs proof. A second free is one if nothing can have been missed: every
 * entry hooked, no record ever lost. An address that never was a block since the attach
 * may be a block from before it, unless those are known (live_older.c), or it lies where
 * none can: inside one that lives, off the alignment, or where the places
 * (live_options.place) say so.
 *
 * The block that holds an address is looked for in the table close by, then among all
 * blocks; the second search is paid from a credit that events earn, so that a target
 * that frees a million older blocks can't make memattach fall behind.
 *
 * Rejected: an ordered index of all blocks. Each event would pay for what almost none
 * needs.
 */
#include "src/live/live.h"
#include "src/live/live_private.h"

#define REACH		256u	/* how far below an address its block is looked for first */
#define TCB_REACH	65536u	/* struct pthread and static TLS above the thread pointer */
#define CALLS_END	3u	/* of a second: calls from before the hooks have returned */
#define CREDIT_MAX	(1ull << 28)	/* blocks looked at: under a second */

/* Was anything missed? Then what is left of the marks means nothing, now and for good. */
static bool live_saw_all(struct live *live)
{
	if (live->complete && live->options.lost && live->options.lost(live->options.context) > 0)
		live->complete = false;
	return live->complete;
}

/* The live block at an address close below, if any; it may end before the address. */
static const struct block *block_close_below(const struct live *live, uint64_t address)
{
	uint64_t value, start = address & ~(LIVE_ALIGNMENT - 1ull);

	for (uint64_t back = 0; back < REACH && back < start; back += LIVE_ALIGNMENT) {
		if (hashmap_get(&live->addresses, start - back, &value) && !(value & MARK))
			return &live->block[value >> 1];
	}
	return NULL;
}

/* Up to its end as the allocator sees it, where that is known. */
static bool block_holds(const struct block *block, uint64_t address)
{
	struct site_change change;

	if (block->address == 0 || address < block->address)
		return false;
	live_change(block, &change);
	return address - block->address < block->size + change.overhead;
}

/* The live block that address lies in; NULL: none known, or the search would take too long. */
static const struct block *block_around(struct live *live, uint64_t address)
{
	const struct block *close = block_close_below(live, address);

	if (close)
		return block_holds(close, address) ? close : NULL;
	if (live->credit > CREDIT_MAX)
		live->credit = CREDIT_MAX;
	if (live->credit < live->block_count)
		return NULL;
	live->credit -= live->block_count;
	for (uint32_t i = 0; i < live->block_count; i++) {
		if (block_holds(&live->block[i], address))
			return &live->block[i];
	}
	return NULL;
}

void live_set_older_block(struct wrong_free *wrong, const struct older_block *block)
{
	wrong->block = (struct freed_block){
		.address = block->address, .size = block->bytes, .thread = FREED_NO_THREAD,
	};
}

static void set_block(const struct live *live, struct wrong_free *wrong,
		      const struct block *block)
{
	wrong->block = (struct freed_block){
		.address = block->address, .size = block->size, .born = block->time,
		.site = live_site(live, block)->id, .thread = block->thread,
	};
}

/* A mapping that was made for the stack of event's thread, with its TCB at the upper end. */
static bool is_own_stack(const struct mapping_piece *piece, const struct event *event)
{
	return event->stack_address >= piece->low && event->stack_address <= event->address &&
	       event->address < event->thread && event->thread < piece->high &&
	       piece->high - event->thread <= TCB_REACH;
}

/*
 * In memory that the program itself mapped before our eyes is no block, older or not. What
 * an allocator mapped may hold one of a call that began before the attach, unless places says
 * that it is too new for that. Sets wrong->block.
 */
static enum wrong_free_reason reason_of_mapping(const struct live *live,
						const struct event *event,
						enum wrong_free_reason places,
						struct wrong_free *wrong)
{
	const struct mapping_origin *origin;
	struct mapping_piece piece;
	const struct site *site;

	if (!mappings_find(live->mappings, event->address, &piece))
		return places;
	origin = mappings_origin(live->mappings, piece.origin);
	site = sites_find(live->sites, origin->site);
	if (!site || site->allocator)
		return places == WRONG_FREE_NOT ? WRONG_FREE_NOT : WRONG_FREE_FREE;
	if (is_own_stack(&piece, event))
		return WRONG_FREE_STACK;
	wrong->block = (struct freed_block){
		.address = piece.low, .size = piece.high - piece.low,
		.born = origin->time, .site = origin->site, .thread = FREED_NO_THREAD,
	};
	return WRONG_FREE_MAPPED;
}

/*
 * Maps may lack what is new, and show what is gone: what was mapped and unmapped before our eyes
 * decides where it can. Sets wrong->block.
 */
static enum wrong_free_reason reason_of_place(const struct live *live, const struct event *event,
					      struct wrong_free *wrong)
{
	bool believed = live->options.glibc_entry[event->entry] || live->options.from_start;
	enum wrong_free_reason reason = WRONG_FREE_NOT;

	if (live->options.place)
		reason = live->options.place(live->options.place_context, event);
	if (reason == WRONG_FREE_STACK || reason == WRONG_FREE_STATIC)
		return believed ? reason : WRONG_FREE_NOT;
	return reason_of_mapping(live, event, reason, wrong);
}

/* Why no block can begin at an address that was not seen allocated. Sets wrong->block. */
static enum wrong_free_reason reason_of(struct live *live, const struct event *event,
					struct wrong_free *wrong)
{
	bool glibc = live->options.glibc_entry[event->entry];
	enum wrong_free_reason reason;
	struct older_block older;
	enum older_place place = live_older_place(live, event->entry, event->address, &older);
	const struct block *around;

	if (place == OLDER_LIVE)
		return WRONG_FREE_NOT;
	around = block_around(live, event->address);
	if (around)
		set_block(live, wrong, around);
	else if (place == OLDER_INSIDE)
		live_set_older_block(wrong, &older);
	if (around || place == OLDER_INSIDE)
		return WRONG_FREE_INSIDE;
	if (event->address % (glibc ? LIVE_ALIGNMENT : 8u))
		return WRONG_FREE_MISALIGNED;
	reason = reason_of_place(live, event, wrong);
	return reason == WRONG_FREE_NOT && place == OLDER_FREE ? WRONG_FREE_FREE : reason;
}

void live_add_wrong(struct live *live, const struct wrong_free *wrong)
{
	struct site_oddities *oddities = sites_oddities(live->sites);

	if (wrong_free_kind(wrong->reason) == WRONG_FREE_DOUBLE)
		oddities->double_free++;
	else
		oddities->illegal_free++;
	wrong_frees_add(live->wrong, wrong);
}

/*
 * Was it not allocated again since it was freed? A call that began before its entry was hooked
 * is not recorded, and may return what was freed meanwhile. There is none after the picture
 * of the older blocks, in which such a block lives. Without one: none some time after the
 * first event, nor in a thread that did something before that free.
 */
static bool surely_again(const struct live *live, const struct event *event,
			 const struct freed_event *by, const struct freed_event *first)
{
	uint64_t begin = live->thread[0].seen + live->options.settle_ticks / CALLS_END;
	struct older_block older;

	if (live->options.from_start || first->time >= (live->moment ? live->moment : begin))
		return true;
	if (live->older) {
		switch (live_older_place(live, event->entry, event->address, &older)) {
		case OLDER_LIVE:
			return false;
		case OLDER_INSIDE:
		case OLDER_FREE:
			return true;
		case OLDER_UNKNOWN:
			break;
		}
	}
	return !live->awaits_older && live->thread[by->thread].first <= first->time;
}

/* pre: live->complete */
static bool judge(struct live *live, const struct event *event, const struct freed_event *by,
		  const uint64_t *mark)
{
	struct wrong_free wrong = {
		.reason = WRONG_FREE_AGAIN, .realloc = event->flags & RING_F_REALLOC,
		.entry = event->entry, .address = event->address, .by = *by,
	};

	if (mark)
		wrong.block = *freed_get(live->freed, (uint32_t)(*mark >> 1));
	else
		wrong.reason = reason_of(live, event, &wrong);
	if (mark && !surely_again(live, event, by, &wrong.block.freed))
		return false;
	if (wrong.reason == WRONG_FREE_NOT || !live_saw_all(live))
		return false;
	live_add_wrong(live, &wrong);
	return true;
}

bool live_is_wrong(struct live *live, const struct event *event, const struct freed_event *by,
		   const uint64_t *mark)
{
	return live->complete && judge(live, event, by, mark);
}

bool live_wants_free_stack(const struct live *live, const struct event *event)
{
	uint64_t value;

	if (!live->complete || event->kind != RING_FREE || !event->stack_bytes)
		return false;
	return live->options.free_stacks ||
	       !hashmap_get(&live->addresses, event->address, &value) || (value & MARK);
}

bool live_tells_frees(const struct live *live)
{
	return live->complete;
}

const struct wrong_frees *live_wrong_frees(const struct live *live)
{
	return live->wrong;
}
