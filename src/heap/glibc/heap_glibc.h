/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc.h - what the parts of the glibc walker share.
 *
 * heap_glibc_find finds a libc's main_arena and mp_, heap_glibc_arenas the stretches of its
 * arenas, heap_glibc_cached and heap_glibc_tcache the blocks that are free though no header says
 * so, heap_glibc_chunks walks a stretch, heap_glibc_mapped finds what only a search finds,
 * heap_glibc_threads tells what a thread may be at, heap_glibc_held which blocks it has in hand.
 * heap_glibc.c is in charge.
 *
 * Their functions return 0; -ENOMEM; -EAGAIN where what was read does not agree with itself
 * (glibc->why says what); -ENOTSUP where it is beyond a limit (the same).
 */
#ifndef MEMATTACH_LEAK_HEAP_GLIBC_H
#define MEMATTACH_LEAK_HEAP_GLIBC_H

#include "src/heap/glibc/heap_glibc_layout.h"
#include "src/heap/heap.h"
#include "src/heap/heap_window.h"

#define GLIBC_MAX_LIBCS	8u		/* one a namespace of dlmopen */
#define GLIBC_MAX_ARENAS 65536u
#define GLIBC_MAX_REGIONS (1u << 20)
#define GLIBC_MAX_CACHED (32u << 20)
#define GLIBC_MAX_MAPPED (4u << 20)
#define GLIBC_MAX_CHUNKS (1ull << 32)	/* walked, all in all */

/* A stretch that is filled with chunks: from low on, until top or a fence ends it at high. */
struct glibc_region {
	uint64_t low, high;
	uint64_t top;		/* the top chunk, 0: a fence ends it */
	uint64_t own_low;	/* own_low..low: headers of the allocator */
	uint64_t own_high;	/* high..own_high: writable, not used yet */
	uint32_t arena;		/* index */
	bool cut;		/* what follows at high is damaged: no top, no fence */
};
struct glibc_arena {
	uint64_t address, top, top_bytes, system_mem;
	uint64_t fastbin[GLIBC_FASTBINS];
	uint64_t bins_forward, bins_backward;	/* glibc_link_sum over its bins' links */
	uint64_t forward, backward;	/* the same over all that the walk has seen */
	bool locked, pieces;		/* pieces: not contiguous */
	bool top_seen;			/* by the walk */
	bool damaged;			/* its lists can't be checked */
	uint64_t max_system_mem, attached;	/* attached: threads, or HEAP_UNKNOWN */
	uint64_t unsorted;		/* first of its unsorted chunks, or its bin's head */
};
/* A tcache that was read, with what it holds. */
struct glibc_tcache {
	uint64_t chunk;
	struct heap_sum cached;
};
/* A block with a mapping of its own. */
struct glibc_mapped {
	uint64_t base, chunk, end;	/* the mapping, and the chunk in it, which reaches to end */
	uint64_t bytes;			/* usable */
};
struct glibc_sums {
	uint64_t live_count, live_bytes, free_count, free_bytes, cached_matched, chunks;
};

/* Low bits of a cached address. */
#define GLIBC_CACHED_TCACHE 1u	/* it is a tcache's own struct */
#define GLIBC_CACHED_FAST 2u	/* it lies in a fastbin */

struct glibc {
	const struct picture *picture;
	uint64_t code_low, code_high;	/* of the module it is in */
	const struct glibc_state_layout *state;
	const struct glibc_par_layout *par;
	uint64_t main, par_address;
	uint64_t n_mmaps, mmapped_mem, sbrk_base;
	uint64_t brk_limit;		/* behind a fence below it, the main arena may go on */
	struct glibc_versions versions;
	size_t arena_count, region_count, mapped_count, cached_count;
	size_t region_room, mapped_room, cached_room;
	struct glibc_arena *arena;	/* owned, [0] is main_arena */
	uint64_t *ring;			/* owned; the arenas' addresses, ascending */
	struct glibc_region *region;	/* owned */
	struct glibc_mapped *mapped;	/* owned, ascending */
	uint64_t *cached;		/* owned; chunks, ascending after glibc_cached_sort */
	int safe_linking;		/* 1, 0, -1: not known yet */
	struct ranges claimed;		/* regions, with what is the allocator's own around them */
	struct heap_window window, probe;
	struct heap_pages pages;
	uint64_t probe_budget;		/* chunks that guesses may still cost */
	uint64_t link_budget;		/* links of lists that may still be followed */
	uint64_t followed_bytes;	/* in chunks that glibc_follow has met */
	struct glibc_sums sums;
	size_t tcache_count, tcache_room;
	struct glibc_tcache *tcache;	/* owned */
	/* A thread has its arena and its tcache so many words before its pointer; 0 unknown. */
	int arena_words, tcache_words;
	bool tcache_broken;		/* what looks like a thread's tcache is none by its lists */
	struct glibc_figures *figures;	/* owned; NULL: not wanted */
	char why[128];
	bool salvage;			/* heap.salvage */
	uint64_t damaged_bytes;		/* in which chunks are not known */
	char damage[128];		/* the first that was found; "": none */
	uint64_t doubt_low, doubt_high;	/* sizes that may be cached, unknown; none: low > high */
};

/*
 * Finds the libcs of the process by their main_arena: sets code_low, code_high, state, main and
 * versions of up to room of them. The number of them; -EBADMSG there is one whose arenas do not
 * hang together; -ENOMEM.
 */
int glibc_find(const struct picture *picture, const struct modules *modules, struct glibc *ret,
	       size_t room) _must_check_;
/* After glibc_read_arenas: finds mp_, and takes its numbers. */
int glibc_find_par(struct glibc *glibc) _must_check_;

/* Fills arena by the ring. */
int glibc_read_arenas(struct glibc *glibc) _must_check_;
bool glibc_is_arena(const struct glibc *glibc, uint64_t address);
/* After glibc_find_par: fills region by the heaps, and the main arena's first stretch. */
int glibc_read_regions(struct glibc *glibc) _must_check_;
int glibc_add_region(struct glibc *glibc, const struct glibc_region *region) _must_check_;
/*
 * Where the mapped memory that begins at address ends, across mappings, or any end from enough
 * on; address itself: nothing is mapped there.
 */
uint64_t glibc_mapped_until(const struct glibc *glibc, uint64_t address, uint64_t enough);
/* True for a private mapping of memory, none of a file: heaps lie only in such. */
bool glibc_is_memory(const struct procmap *map);

/*
 * One link of a list, from chunk (or bin) to chunk. Where the sum over all links forward is that
 * over all links backward, each link has its counterpart, whatever the order they were met in.
 */
static inline uint64_t glibc_link_sum(uint64_t from, uint64_t to)
{
	uint64_t x = from * 0x9e3779b97f4a7c15u ^ (to >> 7 | to << 57);

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 29;
}

/* Chunks in use that might be a tcache of nobody. */
struct glibc_orphans {
	size_t count;
	uint64_t chunk[1024];
};
struct glibc_walk {
	struct glibc *glibc;
	struct heap *heap;		/* what is found is added to it; NULL: only check */
	struct glibc_orphans *orphans;	/* to be collected, may be NULL */
	bool search;			/* look for more of the main arena behind a fence */
};
/* Before a walk of all regions: sets everything that is summed up to 0. */
void glibc_walk_begin(struct glibc *glibc);
/*
 * Walks the regions from index first on. A region of the main arena that ends early is cut
 * there, and what follows it becomes a region of its own.
 */
int glibc_walk_regions(const struct glibc_walk *walk, size_t first) _must_check_;
/* After all were walked: do the lists of free chunks agree with the chunks? */
int glibc_walk_check(struct glibc *glibc) _must_check_;
/*
 * Does a stretch of the main arena begin at low? Follows the chunks to the top or to a fence
 * below limit: 1 and *ret (low, high, top), or 0.
 */
int glibc_probe_region(struct glibc *glibc, uint64_t low, uint64_t limit,
		       struct glibc_region *ret);

/*
 * Searches memory for chunks with mappings of their own until mp_'s totals are met, and for
 * further stretches of a main arena in pieces until its total is.
 */
int glibc_search_mapped(struct glibc *glibc) _must_check_;
/*
 * Of mapped, which holds all places that look like one, leaves those that are n_mmaps together and
 * mmapped_mem bytes; all where none are. -ENOMEM.
 */
int glibc_choose_mapped(struct glibc *glibc) _must_check_;

/* Is there a thread that may be between a mapping and its count in mp_? */
bool glibc_may_map(const struct glibc *glibc);
/* Is there one in realloc (not in malloc or free)? False also where the name is not to be had. */
bool glibc_in_realloc(const struct glibc *glibc);

/* Adds to heap->held what threads inside of malloc have in hand. 0, -ENOMEM. */
int glibc_add_held(const struct glibc *glibc, struct heap *heap) _must_check_;

/* Damage was found, and why set. True: noted, the walk goes on; false: work in progress, maybe. */
bool glibc_bear(struct glibc *glibc, int error);
/* Chunks of this size may be free. */
void glibc_doubt(struct glibc *glibc, uint64_t size);
static inline bool glibc_is_doubtful(const struct glibc *glibc, uint64_t size)
{
	return size >= glibc->doubt_low && size <= glibc->doubt_high;
}
/* Whatever is freed meanwhile, chunk counts as held by a thread (0: by nobody known). -ENOMEM. */
int glibc_hold(struct heap *heap, uint64_t chunk, int32_t tid) _must_check_;

/* Sets why and returns error. */
int glibc_fail(struct glibc *glibc, int error, const char *format, ...) _printf_(3, 4);

#endif
