/* SPDX-License-Identifier: MIT */
/*
 * heap.h - blocks that an allocator holds, read from its own structures.
 *
 * One walker for each allocator (heap_glibc.c, ...). It checks itself against the allocator's
 * totals and says how far it
 * can be believed. Everything it reads is hostile: bounded, and no chunk is believed twice.
 */
#ifndef MEMATTACH_LEAK_HEAP_H
#define MEMATTACH_LEAK_HEAP_H

#include "src/base/ranges.h"
#include "src/leak/blocks/blocks.h"
#include "src/memory/heap_figures.h"
#include "src/memory/picture.h"
#include "src/memory/residency.h"
#include "src/modules/modules.h"

enum heap_cover {
	HEAP_ABSENT = 0,	/* this allocator is not in the process */
	HEAP_COVERED,		/* every live block was found, and the allocator's totals agree */
	HEAP_TORN,		/* a thread was inside the allocator: take another picture */
	HEAP_NOT_COVERED,	/* it is there, and can't be walked: see why */
	HEAP_DAMAGED,		/* blocks were added, but for those where it is damaged: see why */
};
struct heap_result {
	enum heap_cover cover;
	char allocator[16];	/* "glibc", "musl", "mimalloc", "jemalloc", "tcmalloc" */
	char version[32];	/* of the layout that fits, "" unknown */
	char why[160];		/* for people, when not covered, torn or damaged */
	uint64_t live_count, live_bytes;	/* usable bytes */
	uint64_t free_count, free_bytes;	/* chunks that are free or cached */
	uint64_t arenas, mmapped;
};
/*
 * An address that a thread inside of the allocator knows by another: if a block begins there, the
 * thread has it in hand.
 */
struct heap_held {
	uint64_t address;
	int32_t tid;
};
/*
 * What walkers fill. A walk that does not end in HEAP_COVERED has added nothing: it is
 * made once to validate and once more to add.
 */
struct heap {
	struct blocks *blocks;		/* borrowed */
	/*
	 * The same damage was seen in several pictures: no thread is at work there. What can be
	 * proven beside it is added; what may be free counts as held, the rest is not known.
	 */
	bool salvage;
	struct heap_held *held;		/* owned */
	size_t held_count;
	struct ranges own;		/* the allocators' own data: neither roots nor blocks */
	struct heap_figures *figures;	/* borrowed; filled, too; NULL: not wanted */
	uint32_t figures_heap;		/* which of its heaps is being walked */
	struct residency residency;	/* for the figures */
};
/* Frees own and held; the blocks are their owner's. */
void heap_done(struct heap *heap);

/*
 * Every walker: 0 (see ret->cover) or -ENOMEM. modules: of the target, for symbols and
 * the places of the libraries' data.
 */
int heap_walk_glibc(const struct picture *picture, const struct modules *modules,
		    struct heap *heap, struct heap_result *ret) _must_check_;
int heap_walk_musl(const struct picture *picture, const struct modules *modules,
		   struct heap *heap, struct heap_result *ret) _must_check_;
int heap_walk_mimalloc(const struct picture *picture, const struct modules *modules,
		       struct heap *heap, struct heap_result *ret) _must_check_;
int heap_walk_jemalloc(const struct picture *picture, const struct modules *modules,
		       struct heap *heap, struct heap_result *ret) _must_check_;

#endif
