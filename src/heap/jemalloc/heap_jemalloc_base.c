/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc_base.c - the blocks in which jemalloc keeps its own structures.
 *
 * Each arena has a base: a list of blocks, multiples of 2 MiB, each with a header. The
 * oldest holds the base_t itself, right behind its header, which has the newest, so
 * that any block leads to all. A block is found from a record in it, by going back to the
 * next place of 2 MiB that is a header whose list is sound. Records hold the address of a
 * slab's first region and of every large block: as roots they would hide these.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <errno.h>

#define HEADER_BYTES	144u
#define BASE_AT		192u		/* base_t, in the oldest block */
#define BASE_BLOCKS	160u		/* in it, the newest block */
#define BLOCK_NEXT	8u
#define MOST_BACK	4096u		/* places to go back: 8 GiB of structures in one block */
#define MAX_BLOCK	(1ull << 40)
#define MAX_HEADERS	(4u << 20)	/* read, all in all */

/* A block's header; *ret_next: the one that is older. */
static bool read_header(struct jemalloc *jemalloc, uint64_t block, uint64_t *ret_bytes,
			uint64_t *ret_next)
{
	uint64_t header[2];

	if (block % JEMALLOC_HUGE || block == 0 || block >= JEMALLOC_TOP ||
	    ++jemalloc->headers > MAX_HEADERS ||
	    !jemalloc_read(jemalloc, block, header, sizeof(header)))
		return false;
	*ret_bytes = header[0];
	*ret_next = header[1];
	return header[0] && header[0] % JEMALLOC_HUGE == 0 && header[0] <= MAX_BLOCK &&
	       header[1] % JEMALLOC_HUGE == 0;
}

/* The oldest block of the list, 0: it is no sound list. */
static uint64_t oldest_of(struct jemalloc *jemalloc, uint64_t block)
{
	uint64_t bytes, next;

	for (unsigned int i = 0; i < JEMALLOC_MAX_BASES; i++) {
		if (!read_header(jemalloc, block, &bytes, &next))
			return 0;
		if (!next)
			return block;
		block = next;
	}
	return 0;
}

bool jemalloc_is_base(struct jemalloc *jemalloc, uint64_t address)
{
	uint64_t newest;

	if (address % JEMALLOC_HUGE != BASE_AT)
		return false;
	newest = jemalloc_word(jemalloc, address + BASE_BLOCKS);
	return newest && oldest_of(jemalloc, newest) == address - BASE_AT;
}

static int take_list(struct jemalloc *jemalloc, uint64_t block)
{
	uint64_t bytes, next;
	int r = 0;

	while (block && r == 0) {
		if (!read_header(jemalloc, block, &bytes, &next) ||
		    jemalloc->base.count >= JEMALLOC_MAX_BASES)
			return jemalloc_fail(jemalloc, -EAGAIN, "a base block is wrong");
		r = ranges_add(&jemalloc->base, block, block + bytes);
		block = next;
	}
	ranges_normalize(&jemalloc->base);
	return r;
}

/* Does the block hold record, and belong to a base of that arena? */
static uint64_t base_of(struct jemalloc *jemalloc, uint64_t block, uint64_t record,
			uint32_t arena)
{
	uint64_t bytes, next, base;

	if (!read_header(jemalloc, block, &bytes, &next) ||
	    record - block < HEADER_BYTES || record - block >= bytes)
		return 0;
	base = oldest_of(jemalloc, block) + BASE_AT;
	if (!jemalloc_is_base(jemalloc, base) ||
	    (uint32_t)jemalloc_word(jemalloc, base) != arena)
		return 0;
	return base;
}

int jemalloc_take_base(struct jemalloc *jemalloc, uint64_t record, uint32_t arena)
{
	uint64_t block = record & ~(uint64_t)(JEMALLOC_HUGE - 1);

	if (ranges_contain(&jemalloc->base, record))
		return 0;
	for (unsigned int i = 0; i < MOST_BACK && block; i++) {
		uint64_t base = base_of(jemalloc, block, record, arena);

		if (base)
			return take_list(jemalloc, jemalloc_word(jemalloc, base + BASE_BLOCKS));
		block -= JEMALLOC_HUGE;
	}
	return jemalloc_fail(jemalloc, -EAGAIN, "a record lies in no base block");
}
