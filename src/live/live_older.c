/* SPDX-License-Identifier: MIT */
/*
 * live_older.c - blocks from before the attach, once a picture has shown which there are.
 *
 * Between the picture's moment and the end of the walk events go on. What is freed then and
 * not known is remembered, and judged when the blocks are: those that were freed leave the set,
 * the rest was wrong. Later frees are judged as they come. An address that is neither in the
 * books nor in the set is no block: every call since the picture is in the books, none from
 * before the hooks is still under way (under_way.h), and the walk found every block.
 *
 * A block that the walk calls live may have been freed: by a call that was just beginning.
 * Then a second free of it is believed: the set errs to that side only. What is allocated is
 * not taken from the set, since that would cost each allocation a search: what the books know
 * is never looked up here.
 *
 * It refuses to judge once a record was lost, and where an entry's allocator was not walked.
 */
#include "src/live/live_private.h"

#include <errno.h>

#define UNKNOWN_MAX	(1u << 20)	/* 40 MiB; more frees during a walk, and none is judged */

static void forget(struct live *live)
{
	free(live->unknown);
	live->unknown = NULL;
	live->unknown_count = live->unknown_capacity = 0;
	live->awaits_older = false;
}

void live_await_older(struct live *live, uint64_t moment)
{
	forget(live);
	live->moment = moment;
	older_free(live->older);
	live->older = NULL;
	live->awaits_older = true;
	/* in the picture their old blocks may be gone */
	for (uint32_t i = 0; i < live->thread_count; i++)
		live->thread[i].realloc[0].announced.before = true;
}

static bool unknown_reserve(struct live *live)
{
	uint32_t capacity = live->unknown_capacity ? live->unknown_capacity * 2u : 256u;
	struct unknown_free *unknown;

	if (live->unknown_count < live->unknown_capacity)
		return true;
	if (capacity > UNKNOWN_MAX)
		return false;
	unknown = reallocarray(live->unknown, capacity, sizeof(*unknown));
	if (!unknown)
		return false;
	live->unknown = unknown;
	live->unknown_capacity = capacity;
	return true;
}

uint64_t live_older_freed(struct live *live, const struct unknown_free *freed)
{
	if (live->older)
		return older_remove(live->older, freed->address);
	if (!live->awaits_older)
		return 0;
	if (unknown_reserve(live))
		live->unknown[live->unknown_count++] = *freed;
	else
		forget(live);
	return 0;
}

enum older_place live_older_place(const struct live *live, uint16_t entry, uint64_t address,
				  struct older_block *ret)
{
	enum older_place place;
	uint64_t value;

	if (!live->older)
		return OLDER_UNKNOWN;
	place = older_find(live->older, entry, address, ret);
	/* what is in the books is not from before them */
	if (place == OLDER_INSIDE && hashmap_get(&live->addresses, ret->address, &value))
		return OLDER_FREE;
	return place;
}

/* A free from between the picture and the end of the walk: true, if it was wrong. */
static bool judge_late(struct live *live, const struct unknown_free *freed)
{
	struct wrong_free wrong = {
		.reason = WRONG_FREE_FREE, .realloc = freed->realloc, .entry = freed->entry,
		.address = freed->address, .by = freed->by,
	};
	struct older_block block;
	enum older_place place = live_older_place(live, freed->entry, freed->address, &block);

	if (freed->before || (place != OLDER_INSIDE && place != OLDER_FREE))
		return false;
	if (place == OLDER_INSIDE) {
		wrong.reason = WRONG_FREE_INSIDE;
		live_set_older_block(&wrong, &block);
	}
	live_add_wrong(live, &wrong);
	return true;
}

static void judge_remembered(struct live *live)
{
	for (uint32_t i = 0; i < live->unknown_count; i++) {
		if (judge_late(live, &live->unknown[i]))
			sites_oddities(live->sites)->free_unknown--;
		else
			(void)older_remove(live->older, live->unknown[i].address);
	}
	for (uint32_t i = 0; i < live->thread_count; i++) {
		struct live_realloc *call = &live->thread[i].realloc[0];	/* malloc's */

		if (call->pending && call->block == NO_BLOCK &&
		    judge_late(live, &call->announced)) {
			call->pending = false;
			live->pending_count--;
		}
	}
}

/*
 * What is in the books leaves the set. But what was freed before the picture and lives in it:
 * perhaps it was allocated again by a call that nobody saw (live_wrong.c).
 */
static void drop(void *context, uint64_t address, uint64_t value)
{
	const struct live *live = context;

	if (!(value & MARK) ||
	    freed_get(live->freed, (uint32_t)(value >> 1))->freed.time >= live->moment)
		(void)older_remove(live->older, address);
}

bool live_set_older(struct live *live, struct older *older)
{
	bool good = older && live->awaits_older && live_complete(live);

	if (good) {
		live->older = older;
		judge_remembered(live);
		hashmap_each(&live->addresses, drop, live);
	} else {
		older_free(older);
	}
	forget(live);
	return good;
}

uint64_t live_thread_allocs(const struct live *live, uint64_t thread)
{
	uint64_t at;

	return hashmap_get(&live->thread_index, thread, &at) ? live->thread[at].serial : 0;
}
