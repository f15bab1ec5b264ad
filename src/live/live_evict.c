/* SPDX-License-Identifier: MIT */
/*
 * live_evict.c - see live_evict.h: memory that the live set takes, and what it knows by site.
 *
 * Blocks know their site by their pair, so that one pass over them follows any number of sites
 * that were merged.
 */
#include "src/live/live_evict.h"

#include <errno.h>
#include <stdlib.h>

#include "src/live/live_private.h"

#define FULL_PERCENT	70u	/* of a hash map: base/hashmap.c */
#define FREED_PART	16u	/* of the memory, one in so many */
#define THREADS_PART	8u
#define FREED_BYTES	160u	/* of one, with its place in the table of addresses */
#define LEAST_THREADS	64u
#define LEAST_FREED	1024u

void live_memory(const struct live *live, uint32_t events, struct live_memory *ret)
{
	const struct hashmap *addresses = &live->addresses;
	bool full = (addresses->count + events) * 100u > addresses->capacity * FULL_PERCENT;

	ret->pairs = pairs_bytes(live->pairs);
	ret->blocks = live->block_count * sizeof(*live->block) + hashmap_bytes(addresses) +
		      freed_bytes(live->freed) + mappings_bytes(live->mappings) +
		      live->thread_count * sizeof(*live->thread) +
		      hashmap_bytes(&live->thread_index) +
		      live->unknown_capacity * sizeof(*live->unknown);
	ret->growth = full ? 2u * hashmap_bytes(addresses) : 0;
}

static uint32_t at_least(uint64_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : (uint32_t)value;
}

void live_set_memory(struct live *live, uint64_t bytes)
{
	uint64_t thread_bytes = sizeof(*live->thread) + 64u;

	live->most_threads = at_least(bytes / THREADS_PART / thread_bytes, LEAST_THREADS,
				      live->most_threads);
	freed_set_most(live->freed, at_least(bytes / FREED_PART / FREED_BYTES, LEAST_FREED,
					     FREED_MAX));
}

/* ---- sites ---- */

static uint32_t heir(const void *context, uint32_t site)
{
	return sites_heir(context, site);
}

static void rename_freed(void *context, struct freed_block *block)
{
	block->site = sites_heir(context, block->site);
}

static void rename_blocks(struct live *live, const uint32_t *remap)
{
	for (uint32_t i = 0; i < live->block_count; i++)
		if (live->block[i].address != 0)
			live->block[i].pair = remap[live->block[i].pair];
}

/* What a wrong free is about is worth more than any other site. */
static size_t sites_of_wrong(const struct live *live, uint32_t *ret)
{
	size_t count, kept = 0;
	const struct wrong_free *wrong = wrong_frees_all(live->wrong, &count);

	for (size_t i = 0; i < count; i++)
		if (wrong[i].block.site)
			ret[kept++] = wrong[i].block.site;
	return kept;
}

int live_evict_sites(struct live *live, struct site_choice choice, uint32_t *ret_count)
{
	uint32_t keep[WRONG_FREES_MAX];
	_cleanup_free_ uint32_t *remap = NULL;
	size_t pairs;
	int err;

	(void)pairs_all(live->pairs, &pairs);
	remap = reallocarray(NULL, pairs + 1, sizeof(*remap));
	choice.keep = keep;
	choice.keep_count = sites_of_wrong(live, keep);
	err = remap ? sites_evict_begin(live->sites, &choice, ret_count) : -ENOMEM;
	if (err < 0 || *ret_count == 0)
		return err;
	pairs_rename_sites(live->pairs, heir, live->sites, remap);
	rename_blocks(live, remap);
	mappings_rename_sites(live->mappings, heir, live->sites);
	freed_each(live->freed, rename_freed, live->sites);
	sites_evict_end(live->sites);
	return 0;
}

/* ---- stacks ---- */

static void keep(void *context, uint32_t stack)
{
	stacks_keep(context, stack);
}

/* Callers of free are few. */
static void keep_caller(void *context, struct freed_block *block)
{
	if (stacks_get(context, block->freed.stack).flags & STACK_CALLER_ONLY)
		stacks_keep(context, block->freed.stack);
}

void live_keep_stacks(const struct live *live, struct stacks *stacks)
{
	size_t count;
	const struct wrong_free *wrong = wrong_frees_all(live->wrong, &count);

	sites_each_stack(live->sites, keep, stacks);
	for (size_t i = 0; i < count; i++) {
		stacks_keep(stacks, wrong[i].by.stack);
		stacks_keep(stacks, wrong[i].block.freed.stack);
	}
	freed_each(live->freed, keep_caller, stacks);
	for (uint32_t i = 0; i < live->thread_count; i++)
		for (int k = 0; k < LIVE_REALLOCS; k++)
			stacks_keep(stacks, live->thread[i].realloc[k].announced.by.stack);
	for (uint32_t i = 0; i < live->unknown_count; i++)
		stacks_keep(stacks, live->unknown[i].by.stack);
}

static void forget(void *context, struct freed_block *block)
{
	if (stacks_is_dropped(context, block->freed.stack))
		block->freed.stack = 0;
}

void live_forget_stacks(struct live *live, const struct stacks *stacks)
{
	freed_each(live->freed, forget, (void *)(uintptr_t)stacks);
}
