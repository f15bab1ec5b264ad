/* SPDX-License-Identifier: MIT */
/*
 * freed.c - a pool of freed blocks in the order of their frees.
 *
 * A list through an array: what is freed goes to its end, what is allocated again
 * leaves it from wherever it is, and when the pool is full its head, the oldest, goes.
 * So a program that frees and reuses the same few addresses for ever, as most do, never
 * pushes out the one block that is to be freed twice.
 *
 * Rejected: a ring buffer, which such a program empties of meaning within milliseconds;
 * forgetting everything when there is too much, which makes a verdict a matter of luck; a
 * queue with stale places instead of links, which was measured and is no faster.
 */
#include "src/live/freed.h"

#include <errno.h>
#include <stdlib.h>

#include "src/base/huge_pages.h"

#define FIRST_CAPACITY	1024u

struct entry {
	struct freed_block block;
	uint32_t before, after;		/* in the order of frees; after: also of unused ones */
};

struct freed {
	struct entry *entry;
	uint32_t most, capacity, used;	/* used: entries ever taken */
	uint32_t count;
	uint32_t unused;		/* first of those that were given back */
	uint32_t oldest, latest;
};

int freed_new(struct freed **ret)
{
	struct freed *freed = calloc(1, sizeof(*freed));

	if (!freed)
		return -ENOMEM;
	freed->most = FREED_MAX;
	freed_clear(freed);
	*ret = freed;
	return 0;
}

void freed_free(struct freed *freed)
{
	if (freed)
		free(freed->entry);
	free(freed);
}

void freed_clear(struct freed *freed)
{
	freed->used = freed->count = 0;
	freed->unused = freed->oldest = freed->latest = FREED_NONE;
}

static void list_append(struct freed *freed, uint32_t index)
{
	freed->entry[index].before = freed->latest;
	freed->entry[index].after = FREED_NONE;
	if (freed->latest != FREED_NONE)
		freed->entry[freed->latest].after = index;
	else
		freed->oldest = index;
	freed->latest = index;
	freed->count++;
}

static void list_remove(struct freed *freed, uint32_t index)
{
	const struct entry *entry = &freed->entry[index];

	if (entry->before != FREED_NONE)
		freed->entry[entry->before].after = entry->after;
	else
		freed->oldest = entry->after;
	if (entry->after != FREED_NONE)
		freed->entry[entry->after].before = entry->before;
	else
		freed->latest = entry->before;
	freed->count--;
}

static bool grow(struct freed *freed)
{
	uint32_t capacity = freed->capacity ? freed->capacity * 2u : FIRST_CAPACITY;
	struct entry *entry = reallocarray(freed->entry, capacity, sizeof(*entry));

	if (!entry)
		return false;
	huge_pages_ask(entry, capacity * sizeof(*entry));
	freed->entry = entry;
	freed->capacity = capacity;
	return true;
}

/* Both of its lines. Any index. */
static void entry_fetch(const struct freed *freed, uint32_t index)
{
	if (index >= freed->used)
		return;
	__builtin_prefetch(&freed->entry[index], 1);
	__builtin_prefetch(&freed->entry[index].after, 1);
}

/* An entry for a new block, the oldest one's if need be; FREED_NONE: out of memory. */
static uint32_t entry_take(struct freed *freed, uint64_t *ret_evicted)
{
	uint32_t index = freed->unused;

	*ret_evicted = 0;
	if (index != FREED_NONE) {
		freed->unused = freed->entry[index].after;
		entry_fetch(freed, freed->unused);	/* the next one's */
		return index;
	}
	if ((freed->used < freed->capacity && freed->used < freed->most) ||
	    (freed->used < freed->most && grow(freed)))
		return freed->used++;
	index = freed->oldest;
	if (index == FREED_NONE)
		return FREED_NONE;
	*ret_evicted = freed->entry[index].block.address;
	list_remove(freed, index);
	if (freed->oldest != FREED_NONE)	/* links with the next one that goes */
		entry_fetch(freed, freed->entry[freed->oldest].after);
	return index;
}

uint64_t freed_oldest(const struct freed *freed)
{
	return freed->oldest == FREED_NONE ? 0 : freed->entry[freed->oldest].block.address;
}

uint32_t freed_add(struct freed *freed, const struct freed_block *block, uint64_t *ret_evicted)
{
	uint32_t index = entry_take(freed, ret_evicted);

	if (index == FREED_NONE)
		return FREED_NONE;
	freed->entry[index].block = *block;
	list_append(freed, index);
	return index;
}

const struct freed_block *freed_get(const struct freed *freed, uint32_t index)
{
	return &freed->entry[index].block;
}

void freed_remove(struct freed *freed, uint32_t index)
{
	list_remove(freed, index);
	freed->entry[index].after = freed->unused;
	freed->unused = index;
}

void freed_foresee(const struct freed *freed, uint32_t index, bool links)
{
	if (index >= freed->used)
		return;
	if (!links) {
		entry_fetch(freed, index);
		return;
	}
	entry_fetch(freed, freed->entry[index].before);
	entry_fetch(freed, freed->entry[index].after);
}

uint32_t freed_count(const struct freed *freed)
{
	return freed->count;
}

void freed_set_most(struct freed *freed, uint32_t most)
{
	freed->most = most < FREED_MAX ? most : FREED_MAX;
}

void freed_each(struct freed *freed, void (*each)(void *context, struct freed_block *block),
		void *context)
{
	for (uint32_t i = freed->oldest; i != FREED_NONE; i = freed->entry[i].after)
		each(context, &freed->entry[i].block);
}

size_t freed_bytes(const struct freed *freed)
{
	return freed->used * sizeof(*freed->entry);
}
