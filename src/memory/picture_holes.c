/* SPDX-License-Identifier: MIT */
/*
 * picture_holes.c - what of a picture is empty, see picture.h.
 *
 * Stacks, pools and runtimes reserve far more memory than they use, up to terabytes. Where nothing
 * was ever written there is nothing to read: not only is it faster to know, reading would also
 * make page tables for it. Only private anonymous memory is empty where it has no page: that of
 * a mapped file, huge pages of hugetlbfs and /dev/zero among them, has the file's bytes.
 * Holes and not filled ranges are kept: of a dense heap there is nothing to keep. Their number
 * is bounded, as a hostile target can have one at every other page: the smallest are given up
 * then, and read. A thread's stack pointer tells whether the kernel's word can be trusted at all.
 * What is read from the running process is another matter: collectors move what lives into pages
 * that were empty a moment ago, and when it is looked for there, seconds later, it must be seen.
 */
#include "src/memory/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/pagemap.h"

#define PAGE		4096ull
#define MAX_HOLES	(2u << 20)	/* 32 MiB */
#define MAX_BY_ENTRY	(32ull << 40)	/* half a minute */
#define RANGES		1024u		/* of one call */
#define MOST_PROTECTED	(1ull << 30)	/* glibc reserves 64 MiB for an arena, runtimes terabytes */
#define LEAST_LIVE	(64ull << 20)	/* smaller holes of what still runs are read */

struct finder {
	struct picture *picture;
	const struct pagemap *pagemap;
	struct ranges holes;
	uint64_t least;		/* bytes of a hole that is worth being kept */
	uint64_t begin;		/* of the mapping at hand: no hole reaches below it */
	uint64_t left;		/* bytes of address space that may still be asked for by entry */
	struct pagemap_range range[RANGES];
};

static void give_up_smallest(struct finder *f)
{
	size_t kept = 0;

	f->least *= 2;
	for (size_t i = 0; i < f->holes.count; i++)
		if (f->holes.range[i].high - f->holes.range[i].low >= f->least)
			f->holes.range[kept++] = f->holes.range[i];
	f->holes.count = kept;
}

static int add_hole(struct finder *f, uint64_t low, uint64_t high)
{
	struct range *last = f->holes.count ? &f->holes.range[f->holes.count - 1] : NULL;

	if (last && last->low >= f->begin && last->high == low && low < high) {
		last->high = high;
		return 0;
	}
	if (low >= high || high - low < f->least)
		return 0;
	while (f->holes.count >= MAX_HOLES)
		give_up_smallest(f);
	return ranges_add(&f->holes, low, high);
}

/* What of [low, high) is between the populated ranges. */
static int add_between(struct finder *f, uint64_t low, uint64_t high, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		error = add_hole(f, low, f->range[i].low);
		low = f->range[i].high;
	}
	return error ? error : add_hole(f, low, high);
}

/* 0 or -ENOMEM; what the kernel does not tell is filled. */
static int find_in(struct finder *f, uint64_t low, uint64_t high)
{
	const struct picture *picture = f->picture;
	bool by_entry = f->pagemap->way == PAGEMAP_BY_ENTRY;
	uint64_t at = low;
	int error = 0;

	if (f->pagemap->way == PAGEMAP_UNKNOWN || (by_entry && high - low > f->left))
		return 0;
	f->left -= by_entry ? high - low : 0;
	while (!error && at < high) {
		uint64_t from = at;
		int count = pagemap_next(f->pagemap, &at, high, f->range, RANGES);

		if (count < 0)
			break;
		error = add_between(f, from, at, (size_t)count);
		if (picture->idle)
			picture->idle(picture->idle_context);
	}
	return error;
}

/* Those of the mapping at hand. They are the last ones. */
static void keep_large(struct finder *f)
{
	size_t first = f->holes.count, kept;

	while (first && f->holes.range[first - 1].low >= f->begin)
		first--;
	kept = first;
	for (size_t i = first; i < f->holes.count; i++)
		if (f->holes.range[i].high - f->holes.range[i].low >= LEAST_LIVE)
			f->holes.range[kept++] = f->holes.range[i];
	f->holes.count = kept;
}

static bool is_private_memory(const struct procmap *map)
{
	return !(map->prot & PROCMAP_SHARED) && map->inode == 0 &&
	       (map->path[0] == '\0' || strcmp(map->path, "[heap]") == 0 ||
		strncmp(map->path, "[stack", 6) == 0 || strncmp(map->path, "[anon:", 6) == 0);
}

bool picture_is_protected(const struct procmap *map)
{
	return !(map->prot & PROCMAP_R) && map->end - map->start <= MOST_PROTECTED &&
	       is_private_memory(map);
}

/* Empty where it has no page? */
static bool is_anonymous(const struct procmap *map)
{
	return is_private_memory(map) && ((map->prot & PROCMAP_R) || picture_is_protected(map));
}

static int find_all(struct finder *f, const struct pagemap *own, const struct pagemap *live)
{
	const struct picture *picture = f->picture;
	int error = 0;

	for (size_t i = 0; !error && i < picture->maps.count; i++) {
		const struct procmap *map = &picture->maps.map[i];
		bool runs = ranges_contain(&picture->live_ranges, map->start);

		f->pagemap = runs ? live : own;
		f->begin = map->start;
		if (is_anonymous(map))
			error = find_in(f, map->start, map->end);
		if (runs)
			keep_large(f);
	}
	return error;
}

/* A stack that is in use is not empty. */
static bool is_credible(const struct finder *f)
{
	for (size_t i = 0; i < f->picture->thread_count; i++) {
		uint64_t rsp = f->picture->thread[i].registers.rsp & ~7ull;

		if (ranges_contain(&f->holes, rsp) && picture_word(f->picture, rsp))
			return false;
	}
	return true;
}

int picture_find_holes(struct picture *picture, int pagemap, int live_pagemap)
{
	struct finder *f = calloc(1, sizeof(*f));
	struct pagemap own, live;
	int error;

	if (!f)
		return -ENOMEM;
	f->picture = picture;
	f->least = PAGE;
	f->left = MAX_BY_ENTRY;
	pagemap_init(&own, pagemap);
	pagemap_init(&live, live_pagemap);
	error = find_all(f, &own, &live);
	ranges_normalize(&f->holes);
	if (!error && is_credible(f)) {
		picture->holes = f->holes;
		f->holes = (struct ranges){ 0, 0, NULL };
	}
	ranges_done(&f->holes);
	free(f);
	return error;
}

uint64_t picture_skip_hole(const struct picture *picture, uint64_t address)
{
	const struct range *hole = ranges_at_or_above(&picture->holes, address);

	return hole && hole->low <= address ? hole->high : address;
}

uint64_t picture_hole_bytes(const struct picture *picture, uint64_t low, uint64_t high)
{
	const struct ranges *holes = &picture->holes;
	const struct range *hole = ranges_at_or_above(holes, low);
	uint64_t bytes = 0;

	for (; hole && hole < holes->range + holes->count && hole->low < high; hole++)
		bytes += (hole->high < high ? hole->high : high) -
			 (hole->low > low ? hole->low : low);
	return bytes;
}

uint64_t picture_filled_bytes(const struct picture *picture)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < picture->maps.count; i++) {
		const struct procmap *map = &picture->maps.map[i];
		bool looked_through = (map->prot & PROCMAP_W) || is_anonymous(map);

		if (looked_through && !(map->prot & PROCMAP_SHARED))
			bytes += map->end - map->start -
				 picture_hole_bytes(picture, map->start, map->end);
	}
	return bytes;
}
