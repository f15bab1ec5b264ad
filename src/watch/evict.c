/* SPDX-License-Identifier: MIT */
/*
 * evict.c - see evict.h.
 *
 * Everything that grows with what the target does is counted, with what a picture of it takes for
 * a moment. Blocks may have LIVE_SHARE of the limit, and no table of theirs grows beyond that:
 * they are thinned instead. Names (sites, stacks, call paths) have all that is left: when that
 * is used up, half of the sites go. So neither takes the other's: a program with a hundred million
 * blocks still has its sites, one with as many stacks its blocks.
 * What is not counted does not grow with events: the program, the mapped files, the shared rings,
 * call frame information. A search for leaks has memory of its own while it lasts, and nothing
 * is evicted meanwhile, as it remembers sites.
 * Rejected: to look at how much memory the process has (the allocator keeps what was freed, and
 * it would be known too late); a limit by the kernel (it ends a process, it can't make it forget).
 */
#include "src/watch/evict.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "src/base/give_back.h"
#include "src/base/spare_pages.h"
#include "src/live/live_evict.h"
#include "src/live/site_lives.h"

#define LIVE_SHARE(limit)	((limit) / 8u * 5u)
/* A table that doubles jumps by so much, all others together by a mebibyte. */
#define NAMES_LIMIT(limit)	((limit) / 16u * 15u - (1u << 20))
#define MEMO_PART		8u
#define PATHS_PART		8u
#define PATH_BYTES		96u	/* of a name, in the tables of now and before */
#define LEAST_SITES		64u
#define PICTURE_BYTES		(sizeof(struct snapshot_site) + sizeof(struct site_life) + 224u)
/* Arrays come straight from the kernel and go back there, whatever was freed before. */
#define OWN_MAPPING_BYTES	(256 << 10)

void evict_begin(struct watch *w)
{
	uint64_t limit = w->options.max_memory;

	give_back_from(OWN_MAPPING_BYTES);
	if (!limit)
		return;
	live_set_memory(w->live, limit);
	if (w->unwinder)
		unwinder_set_memory(w->unwinder, limit / MEMO_PART);
	if (w->recognition)
		recognition_set_most(w->recognition, limit / PATHS_PART / PATH_BYTES);
}

/* All but blocks. */
static uint64_t names_bytes(const struct watch *w, const struct live_memory *live)
{
	struct unwind_stats unwind = { .walks = 0 };
	uint64_t bytes = sizeof(*w) + live->pairs + stacks_bytes(w->stacks) +
			 sites_bytes(w->sites) + TIMELINE_MAX * sizeof(struct timeline_point) +
			 sites_places(w->sites) * PICTURE_BYTES;

	if (w->unwinder)
		unwinder_stats(w->unwinder, &unwind);
	if (w->recognition)
		bytes += recognition_bytes(w->recognition);
	return bytes + unwind.memo_bytes;
}

/* Who remembers a stack that was dropped learns it anew. */
static void forget_stacks(struct watch *w)
{
	live_forget_stacks(w->live, w->stacks);
	spare_clear(w->caller, sizeof(w->caller));
	if (w->unwinder)
		unwinder_forget(w->unwinder);
	if (w->recognition)
		recognition_forget(w->recognition);
}

static int drop_stacks(struct watch *w, uint32_t other)
{
	uint32_t dropped;
	int err;

	live_keep_stacks(w->live, w->stacks);
	stacks_keep(w->stacks, other);
	err = stacks_sweep(w->stacks, &dropped);
	if (err < 0)
		return err;
	w->memory.stacks += dropped;
	forget_stacks(w);
	return 0;
}

/* Half of the sites go, and all stacks that no other one has. */
static int evict(struct watch *w)
{
	struct site_choice choice = { .most = sites_places(w->sites) / 2u };
	uint32_t count = 0;
	int err = stacks_intern(w->stacks, NULL, 0, STACK_OTHER, &choice.other_stack);

	if (choice.most < LEAST_SITES)
		choice.most = LEAST_SITES;
	if (err == 0)
		err = live_evict_sites(w->live, choice, &count);
	if (err == 0)
		err = drop_stacks(w, choice.other_stack);
	(void)malloc_trim(0);
	return err;
}

/* Stacks that frees alone have are many, too: they are dropped even if no site is. */
static bool can_evict(const struct watch *w)
{
	return sites_places(w->sites) > LEAST_SITES * 2u ||
	       stacks_kept_count(w->stacks) > sites_places(w->sites) + LEAST_SITES * 2u;
}

void evict_if_needed(struct watch *w)
{
	uint64_t limit = w->options.max_memory, names;
	struct live_memory live;
	int err = 0;

	if (!limit || w->counts)	/* counters keep referring to their sites */
		return;
	live_memory(w->live, EVICT_EVENTS, &live);
	names = names_bytes(w, &live);
	if (live.blocks + live.growth > LIVE_SHARE(limit))
		live_thin(w->live);
	else if (names + live.blocks + live.growth > NAMES_LIMIT(limit) && !w->memory.held &&
		 can_evict(w))
		err = evict(w);
	if (names + live.blocks > w->memory.peak)
		w->memory.peak = names + live.blocks;
	if (err && !w->error)
		w->error = err;
}

void evict_note(const struct watch *w, struct snapshot_session *session)
{
	struct site_evictions sites = sites_evictions(w->sites);
	struct live_thinning blocks = live_thinning(w->live);
	struct live_memory live;

	live_memory(w->live, 0, &live);
	session->memory = (struct snapshot_memory){
		.limit_bytes = w->options.max_memory,
		.used_bytes = names_bytes(w, &live) + live.blocks,
		.peak_bytes = w->memory.peak,
		.evicted_sites = sites.sites, .evicted_stacks = w->memory.stacks,
		.evicted_alloc_count = sites.alloc_count,
		.evicted_alloc_bytes = sites.alloc_bytes,
		.thinned_blocks = blocks.blocks, .thinned_bytes = blocks.bytes,
		.thinned_interval_bytes = blocks.interval,
	};
	if (session->memory.used_bytes > session->memory.peak_bytes)
		session->memory.peak_bytes = session->memory.used_bytes;
}
