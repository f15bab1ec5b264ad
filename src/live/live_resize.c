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
 * before the attach, and in sampled modes only where the old block was drawn as well. Calls
 * without that are counted apart rather than guessed.
 */
#include "src/live/live_private.h"

#include <errno.h>

/* The block that thread's realloc is about, if it is one of the books. */
static const struct block *old_block(const struct live *live, const struct live_thread *thread,
				     uint64_t address)
{
	bool known = thread->pending && thread->announced.address == address &&
		     thread->pending_block != NO_BLOCK;

	return known ? &live->block[thread->pending_block] : NULL;
}

static enum site_resize how_it_went(const struct event *event, const struct block *old)
{
	if (event->address != event->old_address)
		return old ? SITE_MOVED : SITE_MOVED_UNKNOWN;
	if (!old)
		return SITE_IN_PLACE;
	return event->size > old->size ? SITE_GROWN :
	       event->size < old->size ? SITE_SHRUNK : SITE_SAME;
}

static struct site_change change_of(const struct event *event)
{
	return (struct site_change){ .term = estimate_term(event->size, event->interval),
				     .time = event->time };
}

int live_resized(struct live *live, const struct live_thread *thread, const struct event *event,
		 struct site *site)
{
	struct site_change change;
	enum site_resize how;
	const struct block *old;
	uint64_t copied = 0;

	if (!live->options.realloc_entry[event->entry] && !(event->flags & RING_F_REALLOC))
		return 0;
	change = change_of(event);
	if (!(event->flags & RING_F_REALLOC))
		return sites_resize(live->sites, site, SITE_FROM_NULL, &change, 0);
	old = old_block(live, thread, event->old_address);
	how = how_it_went(event, old);
	if (how == SITE_MOVED)
		copied = old->size < event->size ? old->size : event->size;
	return sites_resize(live->sites, site, how, &change, copied);
}

int live_resize_failed(struct live *live, const struct event *event, uint32_t stack)
{
	struct site_change change = change_of(event);
	struct site *site;

	/* Without a stack it was not drawn; where all are, there was no room for it. */
	if (!(event->flags & RING_F_STACK) && !live->exact)
		return 0;
	site = sites_get(live->sites, stack, SITE_MALLOC);
	return site ? sites_resize(live->sites, site, SITE_RESIZE_FAILED, &change, 0) : -ENOMEM;
}

void live_resize_freed(struct live *live, const struct live_thread *thread)
{
	const struct block *old = old_block(live, thread, thread->announced.address);
	struct site_change change = { .time = thread->announced.by.time };
	struct site *site = sites_get(live->sites, thread->announced.by.stack, SITE_MALLOC);

	if (old)
		change.term = estimate_term(old->size, old->interval);
	/* Out of memory: a call is missing in one view. */
	if (site && sites_resize(live->sites, site, SITE_RESIZE_FREED, &change, 0) < 0)
		return;
}
