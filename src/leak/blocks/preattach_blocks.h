/* SPDX-License-Identifier: MIT */
/*
 * preattach_blocks.h - the blocks that lived at the moment of a picture, for as long as their frees
 * are to be judged: which addresses are theirs, which are inside of them, which are neither.
 *
 * Two bits a granule: 1/64 of the walked heap at the most (1/32 where the granule is 8 bytes),
 * and next to nothing for large blocks. Sizes that differ in their last granule cost as much
 * again, or twice.
 */
#ifndef MEMATTACH_LEAK_OLDER_H
#define MEMATTACH_LEAK_OLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/abi/ring_abi.h"
#include "src/base/cleanup.h"

#define OLDER_MAX_HEAPS	8u

enum older_place {
	OLDER_UNKNOWN = 0,	/* not in memory that was walked for that allocator */
	OLDER_LIVE,		/* a block begins there */
	OLDER_INSIDE,		/* inside one */
	OLDER_FREE,		/* in a heap, and in no block */
};

/* Whose memory the segments [begin, end) of the block map are, in the order of their adding. */
struct older_heap {
	char allocator[16];
	size_t begin, end;
};

struct older_block {
	uint64_t address, bytes;	/* usable */
};

struct blocks;
struct older;
/*
 * Made from what a walk found. blocks is fit for blocks_free only afterwards; heap is copied,
 * the first OLDER_MAX_HEAPS of them. 0 or -ENOMEM.
 */
int older_new(struct blocks *blocks, const struct older_heap *heap, size_t heap_count,
	      struct older **ret) _must_check_;
void older_free(struct older *older);
/*
 * What the entry point (an index in the hook plan) is handed belongs to this allocator: true,
 * if its heap was walked. An entry that was never named knows nothing of any address.
 */
bool older_set_entry(struct older *older, uint16_t entry, const char *allocator);
/*
 * What address is to a call of entry; ret: the block, for OLDER_LIVE and OLDER_INSIDE.
 */
enum older_place older_find(const struct older *older, uint16_t entry, uint64_t address,
			    struct older_block *ret);
/* A block that begins at address is one no more; others are ignored. Its usable bytes, or 0. */
uint64_t older_remove(struct older *older, uint64_t address);
/* As they are now; memory: bytes that all of this takes at the most. */
uint64_t older_count(const struct older *older);
uint64_t older_bytes(const struct older *older);
size_t older_memory(const struct older *older);

#endif
