/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_arenas.c - the arenas of a libc, and the stretches of memory they consist of.
 *
 * An arena other than the main one has heaps: mappings aligned to their largest size, each with
 * a header that names its arena, its predecessor and its size; their sizes must add up to
 * what the arena has from the system. Where a heap begins is told by the top chunk's
 * address and a size that fits: 64 MiB, or four huge pages with glibc.malloc.hugetlb.
 * The main arena is one stretch from sbrk_base to the end of top. Where somebody else called sbrk
 * in between, or brk failed and mmap had to help, it is in pieces: the walk sees the first
 * end, and heap_glibc_chunks.c and heap_glibc_mapped.c look for the rest.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <errno.h>
#include <string.h>

#define LARGEST_HEAP	(4ull << 30)	/* four huge pages of a gigabyte */

struct heap_info {
	uint64_t arena, previous, bytes, writable;
};

bool glibc_is_memory(const struct procmap *map)
{
	/* Not only what can be written, or read: the owner of a block may have protected it. */
	if (map->prot & PROCMAP_SHARED || !(map->prot & PROCMAP_R || picture_is_protected(map)))
		return false;
	return (map->inode == 0 && strncmp(map->path, "[v", 2) != 0) ||
	       strcmp(map->path, "/anon_hugepage") == 0;
}

uint64_t glibc_mapped_until(const struct glibc *glibc, uint64_t address, uint64_t enough)
{
	const struct procmaps *maps = &glibc->picture->maps;
	const struct procmap *map = procmaps_find(maps, address);

	if (!map)
		return address;
	while (map->end < enough && map + 1 < maps->map + maps->count && map[1].start == map->end)
		map++;
	return map->end;
}

/* Its bins' part of the check in heap_glibc_chunks.c. */
static void sum_bins(struct glibc_arena *arena, const struct glibc_state_layout *layout,
		     const uint64_t *words)
{
	for (unsigned int i = 0; i < GLIBC_BINS; i++) {
		uint64_t head = arena->address + layout->bins + 16ull * i - 16;
		const uint64_t *links = words + layout->bins / 8 + 2 * i;

		arena->bins_forward += glibc_link_sum(head, links[0]);
		arena->bins_backward += glibc_link_sum(links[1], head);
	}
}

static int read_top(struct glibc *glibc, struct glibc_arena *arena)
{
	/* Before the first allocation, top is a bin that passes for a chunk. */
	if (arena->system_mem == 0)
		return 0;
	if (arena->top % 16 != 0)
		return glibc_fail(glibc, -EAGAIN, "an arena's top chunk is nowhere");
	arena->top_bytes = picture_word(glibc->picture, arena->top + 8);
	if ((arena->top_bytes & GLIBC_SIZE_BITS) != GLIBC_PREV_INUSE ||
	    arena->top_bytes > arena->system_mem)
		return glibc_fail(glibc, -EAGAIN, "an arena's top chunk has no plausible size");
	arena->top_bytes &= ~(uint64_t)GLIBC_SIZE_BITS;
	return arena->top_bytes > UINT64_MAX - arena->top
		       ? glibc_fail(glibc, -EAGAIN, "an arena's top chunk is too large")
		       : 0;
}

static int read_arena(struct glibc *glibc, uint64_t address, struct glibc_arena *ret,
		      uint64_t *ret_next)
{
	uint64_t words[GLIBC_STATE_MAX / 8];
	const struct glibc_state_layout *layout = glibc->state;

	if (picture_read(glibc->picture, address, words, layout->bytes) < 0)
		return glibc_fail(glibc, -EAGAIN, "an arena can't be read");
	*ret = (struct glibc_arena){
		.address = address,
		.top = words[layout->top / 8],
		.system_mem = words[layout->system_mem / 8],
		.locked = (uint32_t)words[0] != 0,
		.pieces = words[0] >> 32 & GLIBC_NONCONTIGUOUS,
		.max_system_mem = words[layout->system_mem / 8 + 1],
		.attached = layout->versions.first < 23 ? HEAP_UNKNOWN :
							  words[layout->system_mem / 8 - 1],
		.unsorted = words[layout->bins / 8],
	};
	if (layout->fastbins)
		memcpy(ret->fastbin, words + layout->fastbins / 8, sizeof(ret->fastbin));
	sum_bins(ret, layout, words);
	*ret_next = words[layout->next / 8];
	return read_top(glibc, ret);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int sort_ring(struct glibc *glibc)
{
	glibc->ring = calloc(glibc->arena_count, sizeof(*glibc->ring));
	if (!glibc->ring)
		return -ENOMEM;
	for (size_t i = 0; i < glibc->arena_count; i++)
		glibc->ring[i] = glibc->arena[i].address;
	qsort(glibc->ring, glibc->arena_count, sizeof(*glibc->ring), by_value);
	return 0;
}

bool glibc_is_arena(const struct glibc *glibc, uint64_t address)
{
	return bsearch(&address, glibc->ring, glibc->arena_count, sizeof(*glibc->ring), by_value);
}

/* Where the arena ends is not known. */
static void drop_top(struct glibc_arena *arena)
{
	arena->top = arena->top_bytes = 0;
	arena->damaged = true;
}

int glibc_read_arenas(struct glibc *glibc)
{
	uint64_t address = glibc->main;
	size_t room = 0;

	do {
		int r;

		if (glibc->arena_count == room) {
			struct glibc_arena *grown;

			room = room ? room * 2 : 16;
			grown = reallocarray(glibc->arena, room, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			glibc->arena = grown;
		}
		if (glibc->arena_count == GLIBC_MAX_ARENAS)
			return glibc_fail(glibc, -EAGAIN, "the ring of arenas does not close");
		r = read_arena(glibc, address, &glibc->arena[glibc->arena_count], &address);
		/* Counted even if it failed, for the sake of its lock. */
		glibc->arena_count++;
		if (glibc_bear(glibc, r))
			drop_top(&glibc->arena[glibc->arena_count - 1]);
		else if (r < 0)
			return r;
	} while (address != glibc->main);
	return sort_ring(glibc);
}

int glibc_add_region(struct glibc *glibc, const struct glibc_region *region)
{
	struct glibc_region *grown;

	if (glibc->region_count == GLIBC_MAX_REGIONS)
		return glibc_fail(glibc, -ENOTSUP, "more heaps than are believed");
	if (glibc->region_count == glibc->region_room) {
		size_t room = glibc->region_room ? glibc->region_room * 2 : 64;

		grown = reallocarray(glibc->region, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		glibc->region = grown;
		glibc->region_room = room;
	}
	glibc->region[glibc->region_count++] = *region;
	return 0;
}

/* The header of the heap at address, if it is one of this arena's. */
static bool read_heap(const struct glibc *glibc, uint64_t address, uint64_t arena,
		      struct heap_info *ret)
{
	return picture_read(glibc->picture, address, ret, sizeof(*ret)) == 0 &&
	       ret->arena == arena && ret->bytes % GLIBC_PAGE == 0 && ret->bytes > 0 &&
	       ret->bytes <= LARGEST_HEAP && ret->bytes <= UINT64_MAX - address;
}

/* The heap that ends where the arena's top does; 0: there is none. */
static uint64_t top_heap(const struct glibc *glibc, const struct glibc_arena *arena,
			 struct heap_info *ret, uint64_t *ret_largest)
{
	/* Powers of two: the usual one, then what four huge pages of any size may make. */
	static const uint8_t sizes[] = { 26, 32, 31, 30, 29, 28, 27, 25,
					 24, 23, 22, 21, 20, 19, 18 };
	uint64_t end = arena->top + arena->top_bytes;

	for (size_t i = 0; i < sizeof(sizes); i++) {
		uint64_t largest = 1ull << sizes[i];
		uint64_t heap = arena->top & ~(largest - 1);

		*ret_largest = largest;
		if (read_heap(glibc, heap, arena->address, ret) && heap + ret->bytes == end)
			return heap;
	}
	return 0;
}

/* Where the first chunk of a heap stands. */
static uint64_t first_chunk(const struct glibc *glibc, const struct glibc_arena *arena,
			    uint64_t heap)
{
	uint64_t header = arena->address % GLIBC_PAGE;

	if (arena->address - header == heap)
		return (arena->address + glibc->state->bytes + 15) & ~15ull;
	return heap + header;
}

static int add_heap(struct glibc *glibc, uint32_t index, uint64_t heap,
		    const struct heap_info *info, uint64_t largest)
{
	const struct glibc_arena *arena = &glibc->arena[index];
	struct glibc_region region = { .low = first_chunk(glibc, arena, heap),
				       .high = heap + info->bytes, .own_low = heap,
				       .arena = index };
	bool last = arena->top >= heap && arena->top < region.high;
	int r;

	if (region.low > region.high - GLIBC_MINSIZE ||
	    glibc_mapped_until(glibc, heap, region.high) < region.high)
		return glibc_fail(glibc, -EAGAIN, "a heap has no plausible size");
	region.top = last ? arena->top : 0;
	region.own_high = region.high;
	if (info->writable > info->bytes && info->writable <= largest)
		region.own_high = heap + info->writable;
	r = ranges_add(&glibc->claimed, heap, region.own_high);
	return r ? r : glibc_add_region(glibc, &region);
}

static int read_heaps(struct glibc *glibc, uint32_t index)
{
	const struct glibc_arena *arena = &glibc->arena[index];
	uint64_t largest = 0, sum = 0, header = arena->address % GLIBC_PAGE;
	struct heap_info info;
	uint64_t heap = top_heap(glibc, arena, &info, &largest);
	bool first = false;

	glibc_versions_narrow(&glibc->versions, (struct glibc_versions){
		header == 0x20 ? 0 : 35, header == 0x20 ? 34 : 99 });
	if (!heap)
		return glibc_fail(glibc, -EAGAIN, "an arena's top chunk is not where a heap ends");
	while (!first) {
		int r = add_heap(glibc, index, heap, &info, largest);

		if (r < 0)
			return r;
		sum += info.bytes;
		first = heap == arena->address - header;
		heap = info.previous;
		if (sum > arena->system_mem ||
		    (!first && !read_heap(glibc, heap, arena->address, &info)))
			return glibc_fail(glibc, -EAGAIN, "an arena's heaps do not hang together");
	}
	if (sum != arena->system_mem)
		return glibc_fail(glibc, -EAGAIN, "an arena's heaps do not add up");
	return 0;
}

/* How far up the first stretch of the main arena may reach. */
static uint64_t main_limit(struct glibc *glibc, uint64_t low)
{
	const struct glibc_arena *main = &glibc->arena[0];
	const struct procmap *map = procmaps_find(&glibc->picture->maps, low);
	uint64_t end = main->top + main->top_bytes;

	if (!main->pieces && !main->damaged)
		return glibc->brk_limit = end;
	if (map && strcmp(map->path, "[heap]") == 0)
		glibc->brk_limit = map->end;
	return glibc_mapped_until(glibc, low, UINT64_MAX);
}

static int read_main(struct glibc *glibc)
{
	const struct glibc_arena *main = &glibc->arena[0];
	struct glibc_region region = { .own_low = glibc->sbrk_base };

	if (main->system_mem == 0)
		return 0;
	if (glibc->sbrk_base == 0 || glibc->sbrk_base > UINT64_MAX - GLIBC_PAGE)
		return glibc_fail(glibc, -EAGAIN, "the main heap begins nowhere");
	region.low = (glibc->sbrk_base + 15) & ~15ull;
	region.high = main_limit(glibc, region.low);
	if (region.low >= region.high ||
	    glibc_mapped_until(glibc, region.low, region.high) < region.high)
		return glibc_fail(glibc, -EAGAIN, "the main heap is not where mp_ says");
	/* Whatever is beyond, the stretch that top is in ends with it. */
	if (main->top >= region.low && main->top < region.high) {
		region.top = main->top;
		region.high = main->top + main->top_bytes;
	}
	region.own_high = region.high;
	return glibc_add_region(glibc, &region);
}

/* A heap that is met twice, or in another, is forged: it would be walked over and over. */
static int check_disjoint(struct glibc *glibc)
{
	uint64_t before = 0, after = 0;

	for (size_t i = 0; i < glibc->claimed.count; i++)
		before += glibc->claimed.range[i].high - glibc->claimed.range[i].low;
	ranges_normalize(&glibc->claimed);
	for (size_t i = 0; i < glibc->claimed.count; i++)
		after += glibc->claimed.range[i].high - glibc->claimed.range[i].low;
	return before == after ? 0 : glibc_fail(glibc, -EAGAIN, "heaps overlap");
}

int glibc_read_regions(struct glibc *glibc)
{
	int r = read_main(glibc);

	if (glibc_bear(glibc, r))
		r = 0;
	for (size_t i = 1; i < glibc->arena_count && r == 0; i++) {
		size_t before = glibc->region_count;

		r = read_heaps(glibc, (uint32_t)i);
		if (!glibc_bear(glibc, r))
			continue;
		glibc->arena[i].damaged = true;
		glibc->region_count = before;
		r = 0;
	}
	return r ? r : check_disjoint(glibc);
}
