/* SPDX-License-Identifier: MIT */
/*
 * hook_islands.c - places islands of r-x pages near the code they serve.
 *
 * Entries sorted by address are taken together as long as all they refer to (the
 * entry, its gap, what its moved instructions address) lies within 512 MiB; one
 * hole for them must lie within 1 GiB of every byte of it, so that every 32-bit
 * displacement fits with room to spare. Executable and libraries usually end up
 * with one island each. An island per module was rejected: a program with five
 * allocators in libraries would get five mappings where one serves.
 */
#include "src/plan/hook_islands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	4096u
#define SLOTS_PER_PAGE	(PAGE_BYTES / sizeof(struct ring_island_entry))
#define CLUSTER_BYTES	(512ull << 20)
/* The slack covers the island itself and the ends of instructions. */
#define REACH_BYTES	((1ull << 30) - (1ull << 20))

struct span {
	uint64_t low, high;
};

static void span_add(struct span *span, uint64_t address, uint64_t bytes)
{
	span->low = address < span->low ? address : span->low;
	span->high = address + bytes > span->high ? address + bytes : span->high;
}

/* All addresses that the island's code for entry, or the patch, must reach. */
static struct span span_of(const struct hook_entry *entry)
{
	struct span span = { entry->address, entry->address + HOOK_EXPECT_BYTES };

	if (entry->patch == HOOK_PATCH_GAP)
		span_add(&span, entry->gap, sizeof(entry->gap_expect));
	for (unsigned int i = 0; i < entry->fixup_count; i++)
		span_add(&span, entry->fixup[i].target, 1);
	return span;
}

static int compare_entries(const void *a, const void *b)
{
	const struct hook_entry *x = *(struct hook_entry *const *)a;
	const struct hook_entry *y = *(struct hook_entry *const *)b;

	return (x->address > y->address) - (x->address < y->address);
}

/* How many of the sorted entries go together; ret_span is what they need. */
static size_t cluster(struct hook_entry *const *entry, size_t count, struct span *ret_span)
{
	struct span all = span_of(entry[0]);
	size_t n = 1;

	for (; n < count; n++) {
		struct span one = span_of(entry[n]), both = all;

		span_add(&both, one.low, one.high - one.low);
		if (both.high - both.low > CLUSTER_BYTES)
			break;
		all = both;
	}
	*ret_span = all;
	return n;
}

/* A copy of maps with room for more, so that later islands keep clear of earlier ones. */
static int copy_maps(const struct procmaps *maps, struct procmaps *ret)
{
	*ret = (struct procmaps){ .count = maps->count };
	ret->map = calloc(maps->count + RING_MAX_ISLANDS, sizeof(*ret->map));
	if (!ret->map)
		return -ENOMEM;
	memcpy(ret->map, maps->map, maps->count * sizeof(*ret->map));
	return 0;
}

static void add_map(struct procmaps *maps, uint64_t start, uint64_t bytes)
{
	size_t at = maps->count;

	for (; at > 0 && maps->map[at - 1].start > start; at--)
		maps->map[at] = maps->map[at - 1];
	maps->map[at] = (struct procmap){ .start = start, .end = start + bytes,
					  .prot = PROCMAP_R | PROCMAP_X, .path = "" };
	maps->count++;
}

/* A hole for bytes, with that much room on both sides if there is any such. 0: none. */
static uint64_t find_hole(const struct procmaps *maps, const struct span *span, uint64_t bytes,
			  uint64_t clearance)
{
	uint64_t hole = procmaps_find_hole(maps, span->low, span->high, bytes + 2 * clearance,
					   REACH_BYTES);

	if (hole || !clearance)
		return hole ? hole + clearance : 0;
	return procmaps_find_hole(maps, span->low, span->high, bytes, REACH_BYTES);
}

/* One island for the n entries that lie in span; none if there is no hole. */
static void place_cluster(struct procmaps *maps, struct hook_plan *plan,
			  struct hook_entry *const *entry, size_t n, const struct span *span)
{
	size_t pages = (n + SLOTS_PER_PAGE - 1) / SLOTS_PER_PAGE;
	struct hook_island *island = &plan->island[plan->island_count];
	uint64_t hole = 0;

	if (plan->island_count < RING_MAX_ISLANDS && span->high - span->low <= CLUSTER_BYTES)
		hole = find_hole(maps, span, pages * PAGE_BYTES, plan->clearance);
	if (!hole)
		return;
	add_map(maps, hole, pages * PAGE_BYTES);
	*island = (struct hook_island){ .address = hole, .pages = (uint32_t)pages };
	for (size_t i = 0; i < n; i++) {
		entry[i]->island = (uint16_t)plan->island_count;
		entry[i]->slot = (uint16_t)i;
	}
	plan->island_count++;
}

int hook_islands_place(const struct procmaps *maps, struct hook_plan *plan)
{
	struct hook_entry *sorted[RING_MAX_ENTRIES];
	struct procmaps copy;
	int r = copy_maps(maps, &copy);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < plan->entry_count; i++) {
		sorted[i] = &plan->entry[i];
		sorted[i]->island = HOOK_NO_ISLAND;
	}
	qsort(sorted, plan->entry_count, sizeof(*sorted), compare_entries);
	for (size_t i = 0; i < plan->entry_count;) {
		struct span span;
		size_t n = cluster(sorted + i, plan->entry_count - i, &span);

		place_cluster(&copy, plan, sorted + i, n, &span);
		i += n;
	}
	free(copy.map);
	return 0;
}
