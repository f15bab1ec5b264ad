/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_cached.c - blocks that were freed and still look as if in use.
 *
 * They hang in singly linked lists: the fastbins of an arena, and the tcaches of the threads
 * (heap_glibc_tcache.c). From 2.32 on, links are stored xored with their own address shifted
 * by 12; which of the two it is, the ends of lists tell. Lists are followed from page to page,
 * in whatever order they are: there is no other way to know a cached block from a live one.
 */
#include "src/heap/glibc/heap_glibc_cached.h"

#include <errno.h>

#include "src/base/array.h"

#define LARGEST_FAST	0xb0u
#define SPARE_LINKS	(4u << 20)

int glibc_cached_push(struct glibc *glibc, uint64_t chunk)
{
	if (glibc->cached_count == glibc->cached_room) {
		size_t room = glibc->cached_room ? glibc->cached_room * 2 : 1024;
		uint64_t *grown;

		if (room > GLIBC_MAX_CACHED)
			return glibc_fail(glibc, -ENOTSUP, "more cached blocks than are believed");
		grown = reallocarray(glibc->cached, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		glibc->cached = grown;
		glibc->cached_room = room;
	}
	glibc->cached[glibc->cached_count++] = chunk;
	return 0;
}

uint64_t glibc_chunk_size(struct glibc *glibc, uint64_t chunk)
{
	uint64_t head;

	return chunk % 16 == 0 && heap_pages_read(&glibc->pages, chunk + 8, &head, sizeof(head))
		       ? head & ~(uint64_t)GLIBC_SIZE_BITS
		       : 0;
}

/* An address where a heap could be. */
static bool is_memory(const struct glibc *glibc, uint64_t address)
{
	const struct procmap *map = procmaps_find(&glibc->picture->maps, address);

	return address % 16 == 0 && map && glibc_is_memory(map);
}

/* What stands at address as a link: where does it lead? */
static uint64_t decode(struct glibc *glibc, uint64_t address, uint64_t stored)
{
	if (glibc->safe_linking >= 0)
		return glibc->safe_linking ? stored ^ address >> 12 : stored;
	/* The last of a list links to 0; any other to memory, in one way or the other. */
	if (stored == 0 || stored == address >> 12)
		glibc->safe_linking = stored != 0;
	else
		glibc->safe_linking = !is_memory(glibc, stored) ||
				      is_memory(glibc, stored ^ address >> 12);
	return glibc->safe_linking ? stored ^ address >> 12 : stored;
}

int64_t glibc_follow(struct glibc *glibc, const struct glibc_list *list, uint64_t first)
{
	uint64_t tortoise = first;
	int64_t count = 0;

	for (uint64_t at = first; at != 0; count++) {
		uint64_t chunk = at - list->link_offset, stored;
		uint64_t size = glibc_chunk_size(glibc, chunk);
		int r;

		if (glibc->link_budget == 0)
			return glibc_fail(glibc, -ENOTSUP, "lists of cached blocks do not end");
		glibc->link_budget--;
		if ((size_t)count >= list->limit || !list->fits(list->index, size) ||
		    !heap_pages_read(&glibc->pages, chunk + GLIBC_HEADER, &stored, 8))
			return -EAGAIN;
		r = glibc_cached_push(glibc, chunk | list->tag);
		if (r < 0)
			return r;
		glibc->followed_bytes += size;
		at = decode(glibc, chunk + GLIBC_HEADER, stored);
		/* Brent: a cycle comes back to where it was at the last power of two. */
		if (at == tortoise)
			return -EAGAIN;
		if ((count & (count + 1)) == 0)
			tortoise = at;
	}
	return count;
}

static bool fits_fastbin(unsigned int index, uint64_t size)
{
	return size == GLIBC_MINSIZE + 16ull * index;
}

static int read_fastbins(struct glibc *glibc, const struct glibc_arena *arena)
{
	for (unsigned int i = 0; i < GLIBC_FASTBINS; i++) {
		const struct glibc_list list = { fits_fastbin, i, 0, GLIBC_MAX_CACHED,
						 GLIBC_CACHED_FAST };
		int64_t n = glibc_follow(glibc, &list, arena->fastbin[i]);

		if (n == -EAGAIN)
			n = glibc_fail(glibc, -EAGAIN, "a fastbin is broken");
		if (glibc_bear(glibc, (int)n))
			glibc_doubt(glibc, GLIBC_MINSIZE + 16ull * i);
		else if (n < 0)
			return (int)n;
	}
	return 0;
}

static uint64_t all_bytes(const struct glibc *glibc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < glibc->arena_count; i++)
		sum += glibc->arena[i].system_mem;
	return sum;
}

int glibc_read_cached(struct glibc *glibc)
{
	int r = 0;

	/* Twice what there can be, and some for what turns out to be no tcache. */
	glibc->link_budget = 2 * (all_bytes(glibc) / GLIBC_MINSIZE) % (2 * GLIBC_MAX_CACHED) +
			     SPARE_LINKS;
	for (size_t i = 0; glibc->state->fastbins && i < glibc->arena_count && r == 0; i++)
		r = read_fastbins(glibc, &glibc->arena[i]);
	return r ? r : glibc_read_tcaches(glibc);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int glibc_cached_sort(struct glibc *glibc)
{
	size_t kept = glibc->cached_count > 0;

	if (glibc->cached_count > 1)
		qsort(glibc->cached, glibc->cached_count, sizeof(*glibc->cached), by_address);
	for (size_t i = 1; i < glibc->cached_count; i++) {
		if (glibc->cached[i - 1] >> 4 != glibc->cached[i] >> 4)
			kept++;
		else if (!glibc_bear(glibc, glibc_fail(glibc, -EAGAIN, "a block is cached twice")))
			return -EAGAIN;
		glibc->cached[kept - 1] = glibc->cached[i];
	}
	glibc->cached_count = kept;
	return 0;
}

size_t glibc_cached_from(const struct glibc *glibc, uint64_t address)
{
	return ARRAY_BISECT(glibc->cached_count, i, glibc->cached[i] < address);
}

bool glibc_is_cached(const struct glibc *glibc, uint64_t chunk)
{
	size_t at = glibc_cached_from(glibc, chunk);

	return at < glibc->cached_count && glibc->cached[at] >> 4 == chunk >> 4;
}

/* A chunk of a fastbin's size that links to another such, and neither is in a list. */
static bool limbo_at(struct glibc *glibc, uint64_t chunk)
{
	uint64_t size = glibc_chunk_size(glibc, chunk), stored, next;

	if (size < GLIBC_MINSIZE || size > LARGEST_FAST || glibc_is_cached(glibc, chunk) ||
	    !heap_pages_read(&glibc->pages, chunk + GLIBC_HEADER, &stored, sizeof(stored)))
		return false;
	next = stored ^ (chunk + GLIBC_HEADER) >> 12;
	return next != 0 && !glibc_is_cached(glibc, next) &&
	       glibc_chunk_size(glibc, next) == size;
}

bool glibc_in_limbo(struct glibc *glibc)
{
	const struct picture *picture = glibc->picture;

	/* Without safe linking the links are plain pointers, which marking follows from there. */
	if (!glibc->state->fastbins || glibc->safe_linking != 1)
		return false;
	for (size_t i = 0; i < picture->thread_count; i++) {
		const struct user_regs_struct *r = &picture->thread[i].registers;
		const uint64_t values[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp,
					    r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14,
					    r->r15 };

		if (r->rip < glibc->code_low || r->rip >= glibc->code_high)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			if (values[k] % 16 == 0 && limbo_at(glibc, values[k]))
				return true;
		}
	}
	return false;
}
