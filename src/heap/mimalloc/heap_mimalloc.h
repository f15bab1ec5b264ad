/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc.h - what the parts of the mimalloc walker share.
 *
 * heap_mimalloc_find finds the main heap of each mimalloc in the process, and with it layout and
 * version; heap_mimalloc_segments the segments and what each is cut into, heap_mimalloc_lists the
 * heaps of all threads and what is queued on them, heap_mimalloc_pages walks the blocks of a page.
 * heap_mimalloc.c is in charge. mimalloc's words are kept: a *page* is a run of slices of 64 KiB
 * that holds blocks of one size, never the kernel's 4 KiB.
 *
 * Their functions return 0; -ENOMEM; -EAGAIN where what was read does not agree with itself
 * (mimalloc->why says what); -ENOTSUP where it is beyond a limit (the same).
 */
#ifndef MEMATTACH_LEAK_HEAP_MIMALLOC_H
#define MEMATTACH_LEAK_HEAP_MIMALLOC_H

#include "src/base/hashmap.h"
#include "src/heap/heap.h"
#include "src/heap/heap_window.h"

#define MIMALLOC_MAX		4u	/* of them in a process */
#define MIMALLOC_MAX_SEGMENTS	(4u << 20)
#define MIMALLOC_MAX_HEAPS	65536u
#define MIMALLOC_MAX_DELAYED	(32u << 20)
#define MIMALLOC_MAX_BLOCKS	65535u	/* of a page: 16 bits count them */

#define MIMALLOC_SEGMENT	(32ull << 20)	/* where they begin is a multiple of it */
#define MIMALLOC_SLICE		(64ull << 10)
#define MIMALLOC_SLICES		512u		/* with an entry in the segment's table */
#define MIMALLOC_BINS		75u		/* queues of a heap */
#define MIMALLOC_HEAD_MAX	(264u + (MIMALLOC_SLICES + 1) * 96u)

/*
 * A build of 2.0.9. With coded lists (MI_SECURE from 3 on, MI_DEBUG) a page has two keys; with
 * padding (MI_DEBUG) a block has 8 bytes more than it says, and the heap a small size more.
 */
struct mimalloc_layout {
	bool coded, padded;
	uint16_t page_bytes;	/* of struct mi_page_s, one a slice */
	uint16_t thread_free;	/* in it; xheap follows */
	uint16_t queues;	/* in struct mi_heap_s */
};
extern const struct mimalloc_layout mimalloc_layouts[3];
#define MIMALLOC_LAYOUTS 3u

struct mimalloc_segment {
	uint64_t low, high;
	uint64_t thread;	/* 0: abandoned */
	bool empty;		/* has no pages: kept for later */
};
/* What a heap's struct tells. */
struct mimalloc_heap {
	uint64_t address, tld, thread, delayed, keys[2];
};
/* A page as its slice has it, checked. */
struct mimalloc_page {
	uint64_t low, high;	/* its slices */
	uint64_t start;		/* of the first block */
	uint64_t size;		/* of a block, padding included */
	uint64_t address;	/* of the struct */
	uint64_t heap;		/* 0: abandoned */
	uint64_t free, local_free, thread_free;	/* heads of lists */
	uint64_t keys[2];
	uint32_t capacity, used;
	bool aligned;		/* pointers into the midst of blocks were handed out */
};
struct mimalloc_sums {
	uint64_t live_count, live_bytes, free_count, free_bytes, delayed_matched;
	uint64_t links;		/* of lists in pages with an offset, all of them well */
};

struct mimalloc {
	const struct picture *picture;
	uint64_t code_low, code_high;	/* of the module it is in */
	const struct mimalloc_layout *layout;	/* NULL: not known, nothing else is set then */
	uint64_t main;			/* the main thread's heap */
	uint64_t cookie;
	unsigned int version;		/* 209 for 2.0.9; 0: it does not say */
	size_t segment_count, segment_room, heap_count, heap_room, delayed_count, delayed_room;
	struct mimalloc_segment *segment;	/* owned, ascending */
	struct mimalloc_heap *heap;	/* owned */
	uint64_t *delayed;		/* owned; blocks queued on heaps, ascending */
	struct hashmap heaps;		/* addresses met in pages */
	struct heap_pages pages;	/* for lists */
	uint8_t *head;			/* owned; MIMALLOC_HEAD_MAX bytes of the segment at hand */
	uint64_t *is_free;		/* owned; a bit a block of the page at hand */
	struct mimalloc_sums sums;
	char why[128];
};

/*
 * Finds them by their main heap: sets code_low, code_high, layout, main, cookie and version of up
 * to room of them, but for those never used. The number of them, or -ENOMEM.
 */
int mimalloc_find(const struct picture *picture, const struct modules *modules,
		  struct mimalloc *ret, size_t room) _must_check_;
/* Bytes that malloc(8 * words) has in bin number bin of 0 to 74; the same in all builds. */
uint64_t mimalloc_bin_bytes(unsigned int bin);

/* Fills segment: everything that has the cookie of this mimalloc. */
int mimalloc_read_segments(struct mimalloc *mimalloc) _must_check_;
/* The index of the segment that holds address; -1: none. */
int64_t mimalloc_segment_at(const struct mimalloc *mimalloc, uint64_t address);
/*
 * Reads the segment and calls each for its pages, ascending. each returns not 0 to end it,
 * which is then the result.
 */
int mimalloc_each_page(struct mimalloc *mimalloc, const struct mimalloc_segment *segment,
		       int (*each)(void *context, const struct mimalloc_page *page),
		       void *context) _must_check_;

/* After mimalloc_read_segments: reads the heaps, checks their totals, follows what is queued. */
int mimalloc_read_lists(struct mimalloc *mimalloc) _must_check_;
/* The index of the first queued block at or above address. */
size_t mimalloc_delayed_from(const struct mimalloc *mimalloc, uint64_t address);
/* What a link means: an address, 0: the end. null: what stands for the end where it is coded. */
uint64_t mimalloc_link(const struct mimalloc *mimalloc, uint64_t word, uint64_t null,
		       const uint64_t keys[2]);

/*
 * Finds which blocks of the page are free and checks that its numbers agree; sums them up. Live
 * ones are added to blocks, unless it is NULL.
 */
int mimalloc_walk_page(struct mimalloc *mimalloc, const struct mimalloc_page *page,
		       struct blocks *blocks) _must_check_;

/* Sets why and returns error. */
int mimalloc_fail(struct mimalloc *mimalloc, int error, const char *format, ...) _printf_(3, 4);

#endif
