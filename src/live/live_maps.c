/* SPDX-License-Identifier: MIT */
/*
 * live_maps.c - mmap, munmap, mremap, brk.
 *
 * An unmapping is booked when it is announced, and taken back in the rare case
 * that it fails: unlike a realloc it is usually the last that is heard of its
 * thread for a while, so it could not wait for the outcome. Figures are bytes of
 * whole pages, since that is what munmap can take away. Mapping events are never
 * sampled: each is certain.
 *
 * The program break is a mapping that grows and shrinks at its end: what each
 * growth added belongs to the stack that asked for it.
 *
 * A range that no process can have (a target may forge any) is an empty one, so that neither an
 * end nor a sum of bytes can wrap.
 */
#include <errno.h>

#include "src/live/live_private.h"

#define PAGE 4096ull
#define MOST (1ull << 47)	/* bytes of memory that a process can have, or lose */

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1u) & ~(PAGE - 1u);
}

/*
 * The end of a range. A process that asks for addresses beyond 2^47 (five levels of page tables)
 * can have memory there, but none that lies on both sides.
 */
static uint64_t range_end(uint64_t low, uint64_t bytes)
{
	uint64_t limit = low < MOST ? MOST : RING_SIZE_LIMIT;

	return low < limit && bytes <= MOST && page_up(bytes) <= limit - low ?
		       low + page_up(bytes) : low;
}

struct cut {
	struct live *live;
	struct live_thread *keeper;	/* keeps the pieces for an undo; NULL: nobody */
	uint64_t time, bytes;
};

static struct site_change piece_change(const struct mapping_piece *piece,
				       const struct mapping_origin *origin, uint64_t time)
{
	return (struct site_change){ .term.size = piece->high - piece->low, .time = time,
				     .born = origin->time };
}

/* Keeps a piece for an undo. Out of memory: an undo will not bring it back. */
static void cut_keep(struct live *live, struct live_thread *thread,
		     const struct mapping_piece *piece)
{
	uint32_t capacity = thread->cut_capacity ? thread->cut_capacity * 2u : 4u;
	struct mapping_piece *cut;

	if (thread->cut_count == thread->cut_capacity) {
		cut = reallocarray(thread->cut, capacity, sizeof(*cut));
		if (!cut)
			return;
		thread->cut = cut;
		thread->cut_capacity = capacity;
	}
	mappings_hold(live->mappings, piece->origin);
	thread->cut[thread->cut_count++] = *piece;
}

static void cut_piece(void *context, const struct mapping_piece *piece)
{
	struct cut *cut = context;
	struct live *live = cut->live;
	const struct mapping_origin *origin = mappings_origin(live->mappings, piece->origin);
	struct site_change change = piece_change(piece, origin, cut->time);

	sites_shrink(live->sites, sites_find(live->sites, origin->site), &change,
		     origin->bytes == 0);
	cut->bytes += piece->high - piece->low;
	if (cut->keeper)
		cut_keep(live, cut->keeper, piece);
}

void live_forget_cut(struct live *live, struct live_thread *thread)
{
	for (uint32_t i = 0; i < thread->cut_count; i++)
		mappings_drop(live->mappings, thread->cut[i].origin);
	thread->cut_count = 0;
	thread->cut_unknown = 0;
}

/* Books [low, high) as mapped by event; what lay there was replaced, or its unmapping missed. */
static int map_range(struct live *live, const struct event *event, uint32_t stack, uint64_t low,
		     uint64_t high)
{
	struct cut cut = { .live = live, .time = event->time };
	struct mapping_piece piece = { .low = low, .high = high };
	struct site_change change = { .term.size = high - low, .time = event->time,
				      .thread = live->last_thread };
	struct site *site = sites_get(live->sites, stack, SITE_MMAP);

	if (!site || mappings_cut(live->mappings, low, high, cut_piece, &cut) < 0 ||
	    mappings_add_origin(live->mappings, event->time, site->id, &piece.origin) < 0)
		return -ENOMEM;
	if (mappings_put(live->mappings, &piece) < 0) {
		mappings_drop(live->mappings, piece.origin);
		return -ENOMEM;
	}
	mappings_drop(live->mappings, piece.origin);
	sites_alloc(live->sites, site, &change);
	live->events.map++;
	return 0;
}

/* Adds bytes that nobody knew of. So many were added: all, or as many as a process can have. */
static uint64_t add_unknown(struct live *live, uint64_t bytes)
{
	uint64_t *sum = &sites_oddities(live->sites)->unmap_unknown_bytes;
	uint64_t added = bytes < MOST - *sum ? bytes : MOST - *sum;

	*sum += added;
	return added;
}

static int unmap_range(struct live *live, struct live_thread *thread, const struct event *event,
		       uint64_t low, uint64_t high)
{
	struct cut cut = { .live = live, .keeper = thread, .time = event->time };

	if (mappings_cut(live->mappings, low, high, cut_piece, &cut) < 0)
		return -ENOMEM;
	thread->cut_time = event->time;
	thread->cut_unknown = add_unknown(live, high - low - cut.bytes);
	live->events.unmap++;
	return 0;
}

static int uncut_piece(struct live *live, const struct mapping_piece *piece, uint64_t cut_time)
{
	const struct mapping_origin *origin = mappings_origin(live->mappings, piece->origin);
	struct site_change change = piece_change(piece, origin, cut_time);
	bool whole = origin->bytes == 0;
	struct cut cut = { .live = live, .time = cut_time };

	/* Nothing can have been mapped there meanwhile; a target that says so lied. */
	if (mappings_cut(live->mappings, piece->low, piece->high, cut_piece, &cut) < 0 ||
	    mappings_put(live->mappings, piece) < 0)
		return -ENOMEM;
	sites_regrow(live->sites, sites_find(live->sites, origin->site), &change, whole);
	return 0;
}

static int apply_unmap_undo(struct live *live, struct live_thread *thread)
{
	int err = 0;

	for (uint32_t i = 0; i < thread->cut_count && err == 0; i++)
		err = uncut_piece(live, &thread->cut[i], thread->cut_time);
	sites_oddities(live->sites)->unmap_unknown_bytes -= thread->cut_unknown;
	live->events.unmap -= live->events.unmap > 0;
	live_forget_cut(live, thread);
	return err;
}

/* The break moved from event->size to event->address; bytes, not pages. */
static int apply_brk(struct live *live, struct live_thread *thread, const struct event *event,
		     uint32_t stack)
{
	if (event->address > MOST || event->size > MOST)
		return 0;
	if (event->address < event->size)
		return unmap_range(live, thread, event, event->address, event->size);
	if (event->address > event->size)
		return map_range(live, event, stack, event->size, event->address);
	return 0;
}

int live_apply_map(struct live *live, struct live_thread *thread, const struct event *event,
		   uint32_t stack)
{
	uint64_t high = range_end(event->address, event->size);

	switch (event->kind) {
	case RING_MAP:
		return high > event->address ? map_range(live, event, stack, event->address, high)
					     : 0;
	case RING_UNMAP:
		return unmap_range(live, thread, event, event->address, high);
	case RING_UNMAP_UNDO:
		return apply_unmap_undo(live, thread);
	case RING_BRK:
		return apply_brk(live, thread, event, stack);
	default:
		return 0;
	}
}
