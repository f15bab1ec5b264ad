/* SPDX-License-Identifier: MIT */
/*
 * heap_figures.h - where the memory of each allocator went, at one moment, by its own structures.
 *
 * A walk of the heaps (src/heap/heap.h) fills it. glibc's memory is told apart by arenas and by
 * the bins of what is free, as malloc_info(3) does; of other allocators there are totals. Chunks
 * count with their headers, as glibc counts them; blocks with what the program may use.
 */
#ifndef MEMATTACH_MEMORY_HEAP_FIGURES_H
#define MEMATTACH_MEMORY_HEAP_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define HEAP_FIGURES_HEAPS 8u
#define HEAP_FIGURES_ARENAS 4096u	/* beyond them, all are in the last one */
#define HEAP_FIGURES_BINS 65536u
#define HEAP_FIGURES_THREADS 65536u
#define HEAP_UNKNOWN UINT64_MAX

/* The numbers stand in recordings. */
enum heap_part {
	HEAP_USED = 0,		/* chunks that the program has */
	HEAP_TCACHE,		/* freed, kept by a thread for itself */
	HEAP_FAST,
	HEAP_UNSORTED,
	HEAP_SMALL,
	HEAP_LARGE,
	HEAP_TOP,		/* the end of the arena, of which nothing was given out yet */
	HEAP_OWN,		/* the allocator's: headers of heaps, tcaches themselves, fences */
	HEAP_PARTS
};
/* "used", "tcache", ... */
const char *heap_part_name(enum heap_part part);
static inline bool heap_part_is_free(enum heap_part part)
{
	return part >= HEAP_TCACHE && part <= HEAP_TOP;
}

struct heap_sum {
	uint64_t count, bytes;
	uint64_t resident;	/* of bytes; where heap_figures.resident_known */
};
/* Up to UINT64_MAX: a recording may say anything. */
void heap_sum_add(struct heap_sum *to, const struct heap_sum *from);

struct heap_total {
	char allocator[16], version[32];
	bool covered;		/* else only why says something */
	char why[160];
	bool has_arenas;	/* they are among the arenas below */
	uint64_t arena_count;
	struct heap_sum live, free;	/* blocks: usable bytes; resident is not told */
	struct heap_sum mapped;	/* blocks with mappings of their own: their mappings */
	/* All it has from the system, or (no arenas) what its blocks lie in; count: stretches. */
	struct heap_sum memory;
};
struct heap_arena {
	uint32_t heap;		/* index of its allocator */
	uint64_t address;	/* of its struct; 0: all those beyond HEAP_FIGURES_ARENAS */
	uint64_t system_bytes, max_system_bytes;	/* from the system; at most so far */
	uint64_t stretches;	/* of memory */
	uint64_t attached;	/* threads that allocate from it; HEAP_UNKNOWN */
	uint64_t resident;	/* of system_bytes */
	uint64_t trimmable;	/* resident, and malloc_trim(0) would give it back */
	struct heap_sum part[HEAP_PARTS];	/* they add up to system_bytes */
};
/* Free chunks that lie together in lists. */
struct heap_bin {
	uint32_t arena;		/* index */
	enum heap_part part;
	uint64_t low, high;	/* bytes of the smallest and the largest chunk */
	struct heap_sum sum;
};
/* A thread of an allocator that has arenas. */
struct heap_thread {
	uint32_t heap;
	int32_t tid;
	uint64_t arena, tcache;	/* addresses; 0: it has none yet */
	struct heap_sum cached;	/* chunks in its tcache; resident is not told */
};
/* What the session knows of the blocks allocated since the attach, at the same moment. */
struct heap_books {
	bool known;		/* else nothing was watched */
	bool estimated;
	uint64_t count, asked_bytes, usable_bytes;	/* of blocks in heaps that were walked */
	uint64_t other_count, other_bytes;	/* in others: asked for */
};
struct heap_figures {
	uint64_t pause_us;	/* for which the process stood still */
	bool resident_known;
	size_t heap_count, arena_count, bin_count, thread_count;
	uint64_t bins_left_out;	/* beyond HEAP_FIGURES_BINS */
	struct heap_total heap[HEAP_FIGURES_HEAPS];
	struct heap_arena *arena;	/* owned, as all below */
	struct heap_bin *bin;		/* by arena, part, low */
	struct heap_thread *thread;	/* as the picture has them */
	struct heap_books books;
};

int heap_figures_new(struct heap_figures **ret) _must_check_;
/* NULL is ignored. */
void heap_figures_free(struct heap_figures *figures);
/* Forgets all that a walk has filled in. */
void heap_figures_clear(struct heap_figures *figures);
/* Room for one more: the element, zeroed. NULL: no memory. */
struct heap_arena *heap_figures_add_arena(struct heap_figures *figures);
struct heap_thread *heap_figures_add_thread(struct heap_figures *figures);
/* 0 or -ENOMEM; one too many is counted only. */
int heap_figures_add_bin(struct heap_figures *figures, const struct heap_bin *bin) _must_check_;
/* Sums of all arenas, or of those of one heap. */
struct heap_arena heap_figures_sum(const struct heap_figures *figures, const uint32_t *heap);

#endif
