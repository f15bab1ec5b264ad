/* SPDX-License-Identifier: MIT */
/*
 * live_resize.c - what became of calls of realloc and reallocarray, by site.
 *
 * A call that gave a block is seen by its ALLOC, and stands for as many as that block does; so
 * does one that failed, by its UNDO, which has a stack if the block would have been recorded.
 * realloc(p, 0) without a block is known only by what did not follow its announcement, and stands
 * for as many calls as the old block for blocks.
 *
 * How large a block was before is known of those alone that are in the books: not of blocks from
 * before the attach, and in sampled modes only where the old block was drawn as well. The two
 * draws are independent, so such a call is seen with the product of both probabilities, and
 * stands for the product of both weights. What rests on it (grown, shrunk, copied) is therefore a
 * sum apart from that of all calls, and their difference is what is not known.
 *
 * Whose announcement it was must be certain for that. One that was followed by no ALLOC, since
 * the new block was not drawn, waits for the thread's next record; and the next malloc may hand
 * out the same address again, for the same line to resize it by the same amount. Measured, three
 * of four matches were such strangers (a loop over 200 bytes, interval 4096). So a match counts
 * only if the first call's block would have been drawn all but surely too: at 7 intervals and more.
 */
#include "src/live/live_private.h"

#include <errno.h>

#define NEARLY_CERTAIN	1.001	/* weight of what is drawn in 999 of 1,000 cases */

/*
 * The block that call is about, if it is one of the books. weight: for how many the new one
 * stands.
 */
static const struct block *old_block(const struct live *live, const struct live_realloc *call,
				     const struct event *event, double weight)
{
	bool same_call = call->pending && call->announced.address == event->old_address &&
			 call->announced.entry == event->entry && call->size == event->size &&
			 weight < NEARLY_CERTAIN;

	return same_call && call->block != NO_BLOCK ? &live->block[call->block] : NULL;
}

static enum site_resize_known how_it_went(const struct event *event, const struct block *old)
{
	if (event->address != event->old_address)
		return SITE_COPIED;
	return event->size > old->size ? SITE_GROWN :
	       event->size < old->size ? SITE_SHRUNK : SITE_SAME;
}

/* Books what is known of a call only if the old block is. */
static void resized_known(struct live *live, const struct live_realloc *call,
			  const struct event *event, const struct site *site)
{
	double weight = estimate_weight(event->size, event->interval);
	const struct block *old = old_block(live, call, event, weight);
	enum site_resize_known how;
	uint64_t copied = 0;

	if (!old)
		return;
	how = how_it_went(event, old);
	if (how == SITE_COPIED)
		copied = old->size < event->size ? old->size : event->size;
	sites_resize_known(live->sites, site, how,
			   weight * estimate_weight(old->size, old->interval), copied);
}

static struct site_change change_of(const struct event *event)
{
	return (struct site_change){ .term = estimate_term(event->size, event->interval),
				     .time = event->time };
}

int live_resized(struct live *live, const struct live_realloc *call, const struct event *event,
		 struct site *site)
{
	struct site_change change;
	enum site_resize how = event->address == event->old_address ? SITE_IN_PLACE : SITE_MOVED;
	int err;

	if (!live->options.realloc_entry[event->entry] && !(event->flags & RING_F_REALLOC))
		return 0;
	change = change_of(event);
	if (!(event->flags & RING_F_REALLOC))
		return sites_resize(live->sites, site, SITE_FROM_NULL, &change);
	err = sites_resize(live->sites, site, how, &change);
	if (err == 0)
		resized_known(live, call, event, site);
	return err;
}

int live_resize_failed(struct live *live, const struct event *event, uint32_t stack)
{
	struct site_change change = change_of(event);
	struct site *site;

	/* Without a stack it was not drawn; where all are, there was no room for it. */
	if (!(event->flags & RING_F_STACK) && !live->exact)
		return 0;
	site = sites_get(live->sites, stack, live_kind(live, event->entry));
	return site ? sites_resize(live->sites, site, SITE_RESIZE_FAILED, &change) : -ENOMEM;
}

void live_resize_freed(struct live *live, const struct live_realloc *call)
{
	const struct block *old = call->block == NO_BLOCK ? NULL : &live->block[call->block];
	struct site_change change = { .time = call->announced.by.time };
	struct site *site = sites_get(live->sites, call->announced.by.stack,
				      live_kind(live, call->announced.entry));

	if (old)
		change.term = estimate_term(old->size, old->interval);
	/* Out of memory: a call is missing in one view. */
	if (site && sites_resize(live->sites, site, SITE_RESIZE_FREED, &change) < 0)
		return;
}
