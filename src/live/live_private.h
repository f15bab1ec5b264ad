/* SPDX-License-Identifier: MIT */
/* live_private.h - what live.c (blocks), live_wrong.c and live_maps.c (mappings) share. */
#ifndef MEMATTACH_LIVE_PRIVATE_H
#define MEMATTACH_LIVE_PRIVATE_H

#include "src/base/hashmap.h"
#include "src/live/freed.h"
#include "src/leak/blocks/preattach_blocks.h"
#include "src/live/live.h"
#include "src/live/live_evict.h"
#include "src/live/pairs.h"
#include "src/live/mappings.h"

#define NO_BLOCK	UINT32_MAX
#define THREAD_MASK	0x7fffffffu
/* Values of the table of addresses: a block is its index << 1, a freed one that << 1 | MARK. */
#define MARK		1u
#define LIVE_ALIGNMENT	16u	/* of glibc's blocks */

struct block {
	uint64_t address;	/* 0: unused, size is then the next unused one */
	uint64_t size, time, interval;
	uint64_t serial;	/* of its thread's allocations */
	uint32_t pair;		/* of site and thread: index in pairs */
	uint32_t thread : 31;
	uint32_t glibc : 1;
};

/* A free of a block whose allocation was not seen. */
struct unknown_free {
	uint64_t address;
	struct freed_event by;
	uint16_t entry;
	bool realloc;
	bool to_zero;		/* realloc(p, 0): by.stack is its stack */
	bool before;		/* a realloc that was under way in the picture: not to be judged */
};

/* A realloc that was announced. */
struct live_realloc {
	bool pending;			/* how it went is not known yet */
	uint32_t block;			/* NO_BLOCK: not one we know */
	struct unknown_free announced;	/* its old block's end */
	uint64_t size;			/* what was asked for instead */
};
/* A thread may be in two: in a function of the user's, and in malloc's that that one calls. */
enum { LIVE_REALLOCS = 2 };

struct live_thread {
	uint64_t seen;			/* TSC of its first event, */
	uint64_t first;			/* and of the first of the malloc family; 0: none */
	uint64_t serial;		/* allocations so far */
	uint64_t pointer, last;		/* its name; TSC of its last event */
	struct estimate alloc, freed, freed_others;	/* freed: its own blocks */
	struct estimate gone;		/* its blocks that it did not free itself, and lost ones */
	struct live_realloc realloc[LIVE_REALLOCS];	/* live_realloc() */
	struct mapping_piece *cut;	/* by the last munmap, which may yet fail */
	uint32_t cut_count, cut_capacity;
	uint64_t cut_time, cut_unknown;	/* cut_unknown: bytes we did not know of */
};

struct live {
	struct live_options options;
	struct sites *sites;
	bool exact, complete, every_alloc;
	struct hashmap addresses;	/* block index << 1, or index in freed << 1 | MARK */
	struct freed *freed;
	struct wrong_frees *wrong;
	uint64_t credit;		/* blocks that searches may look at: live_wrong.c */
	struct older *older;		/* owned; NULL: older blocks are not known */
	uint64_t moment;		/* TSC of the picture that shows them; 0: none yet */
	bool awaits_older;		/* frees of what may be one are kept in unknown */
	struct unknown_free *unknown;
	uint32_t unknown_count, unknown_capacity;
	uint64_t live_count, pending_count;
	struct block *block;
	uint32_t block_count, block_capacity, free_block;
	struct hashmap thread_index;	/* thread pointer -> index */
	struct live_thread *thread;
	uint32_t thread_count, thread_capacity;
	uint64_t last_name;		/* of the thread looked up last */
	uint32_t last_thread;
	struct pairs *pairs;
	struct mappings *mappings;
	struct live_events events;
	uint32_t most_threads;
	struct live_thinning thinning;
	uint64_t random;		/* of live_thin.c */
};

/*
 * The state of the thread with this thread pointer, which does something at TSC now. NULL: out
 * of memory. Valid until the next.
 */
struct live_thread *live_thread(struct live *live, uint64_t name, uint64_t now);
/*
 * Books the free of an address where nothing is known to live if it is a wrong one. mark:
 * the table's value where it was freed before, else NULL. False: not wrong, or not known.
 */
bool live_is_wrong(struct live *live, const struct event *event, const struct freed_event *by,
		   const uint64_t *mark);
/*
 * A block whose allocation was not seen is freed: it is no older one any more. Its usable
 * bytes, 0: not known.
 */
uint64_t live_older_freed(struct live *live, const struct unknown_free *freed);
/*
 * What the older blocks say of address, which nobody saw allocated; ret: the one that it is
 * inside of.
 */
enum older_place live_older_place(const struct live *live, uint16_t entry, uint64_t address,
				  struct older_block *ret);
/* wrong is about that block. */
void live_set_older_block(struct wrong_free *wrong, const struct older_block *block);
/* Books and counts a wrong free. */
void live_add_wrong(struct live *live, const struct wrong_free *wrong);
/*
 * Books how a realloc went, at its site; before its end is booked (pending_free). event: the ALLOC
 * that it ended with. 0 or -ENOMEM.
 */
int live_resized(struct live *live, const struct live_realloc *call, const struct event *event,
		 struct site *site) _must_check_;
/* The same of one that failed: its RING_UNDO. */
int live_resize_failed(struct live *live, const struct event *event, uint32_t stack) _must_check_;
/* The same of realloc(p, 0), which ended without a block. pre: call->announced.to_zero. */
void live_resize_freed(struct live *live, const struct live_realloc *call);
/* What the block is to the sites; .time is 0. */
void live_change(const struct block *restrict block, struct site_change *restrict ret);
/* thread's last realloc by an entry of this kind. */
static inline struct live_realloc *live_realloc(const struct live *live,
						struct live_thread *thread, uint16_t entry)
{
	return &thread->realloc[live->options.custom_entry[entry]];
}
/* Of an event of the malloc family, or of one that is treated like that. */
static inline enum site_kind live_kind(const struct live *live, uint16_t entry)
{
	return live->options.custom_entry[entry] ? SITE_CUSTOM : SITE_MALLOC;
}
/* Its site. */
static inline struct site *live_site(const struct live *live, const struct block *block)
{
	return sites_find(live->sites, pairs_at(live->pairs, block->pair)->site);
}
/* The place of a block that is booked out and off the table is free for another. */
void live_release(struct live *live, uint32_t at);
/* RING_MAP, RING_UNMAP, RING_UNMAP_UNDO, RING_BRK; others are ignored. 0 or -ENOMEM. */
int live_apply_map(struct live *live, struct live_thread *thread, const struct event *event,
		   uint32_t stack) _must_check_;
/*
 * Is the block at, which came, kept? change says then what it is among those that live. pre:
 * thinning.interval > its own.
 */
bool live_draw(struct live *live, uint32_t at, struct site_change *change);
/* thread's last munmap did not fail. */
void live_forget_cut(struct live *live, struct live_thread *thread);

#endif
