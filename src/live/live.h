/* SPDX-License-Identifier: MIT */
/*
 * live.h - which blocks and mappings live now: turns events into bookings.
 *
 * The rules (docs/NUMBERS.md): realloc is a free of the old block and an
 * allocation of the new one, at the moment it succeeds; one that fails changes
 * nothing. An allocation at a live address means that a free was missed. A free of
 * what was freed already, or is no block, changes nothing and is kept apart
 * (wrong_frees.h).
 */
#ifndef MEMATTACH_LIVE_H
#define MEMATTACH_LIVE_H

#include "src/live/sites.h"
#include "src/live/wrong_frees.h"
#include "src/ring/event.h"

struct live_options {
	/*
	 * Every event of the target is recorded (RING_MODE_ALL from the first event
	 * on), frees of unknown blocks too.
	 */
	bool exact;
	/*
	 * Exact, and every entry point that allocates is hooked: a second free of an
	 * address can be told from the free of a block whose allocation was not seen.
	 */
	bool complete;
	/* Records lost so far (reader_lost_records); NULL: none ever. */
	uint64_t (*lost)(void *context);
	void *context;
	/*
	 * The process was just being started when its allocators were hooked: no call of them was
	 * under way, and what was allocated before is the dynamic loader's.
	 */
	bool from_start;
	/*
	 * Complete: why event's address, never seen allocated since the attach, can't be a
	 * block from before it; WRONG_FREE_NOT: it may be. WRONG_FREE_STACK and
	 * WRONG_FREE_STATIC are believed for glibc, and from_start. NULL: it always may.
	 */
	enum wrong_free_reason (*place)(void *context, const struct event *event);
	void *place_context;
	bool free_stacks;	/* every free's stack is wanted, not only those of wrong ones */
	/* Entries of glibc's malloc family: overhead by its chunk formula. */
	bool glibc_entry[RING_MAX_ENTRIES];
	/* Functions that the user has named: their blocks are apart, whatever their addresses. */
	bool custom_entry[RING_MAX_ENTRIES];
	/* Entries of realloc's or reallocarray's shape. */
	bool realloc_entry[RING_MAX_ENTRIES];
	/* Sampled modes: ticks after which a realloc whose new block was not drawn is a free. */
	uint64_t settle_ticks;
};

/* Events that were booked. */
struct live_events {
	uint64_t alloc, free, map, unmap;
};

/* A live block of the malloc family, for leak lists. */
struct live_block {
	uint64_t address, size, time;
	uint32_t site, thread;		/* thread: small number */
	double weight;
	bool custom;			/* of a function that the user has named */
};

struct older;
struct pairs;
struct live;
/* options are copied; sites is borrowed and must outlive the live set. 0 or -ENOMEM. */
int live_new(const struct live_options *options, struct sites *sites,
	     struct live **ret) _must_check_;
void live_free(struct live *live);
/*
 * An allocation or a free at address may come soon. stage: 0 first, then, some events later each,
 * 1 to 3. *found is for what one event's stages find out, 0 at the first. Changes nothing else;
 * any address.
 */
void live_foresee(const struct live *live, unsigned int stage, uint64_t address, uint64_t *found);
/*
 * Books one event. stack: id of its stack (where live_wants_stack; RING_FREE while
 * live_tells_frees, 0 unknown), else ignored. 0 or -ENOMEM (it is not booked, or not wholly).
 */
int live_apply(struct live *live, const struct event *event, uint32_t stack) _must_check_;
/* True when this kind of event needs a stack id. */
bool live_wants_stack(const struct event *event);
/* True when a free's whole stack would be kept, and not only its caller. */
bool live_wants_free_stack(const struct live *live, const struct event *event);
/* True while wrong frees are looked for: false for good once a record was lost. */
bool live_tells_frees(const struct live *live);
/* Those found so far. Borrowed until the next live_apply. */
const struct wrong_frees *live_wrong_frees(const struct live *live);
/*
 * A picture was taken at TSC moment, and everything up to it is booked, nothing after it: from
 * now on what is freed and not known is remembered, for live_set_older.
 */
void live_await_older(struct live *live, uint64_t moment);
/*
 * older (taken; NULL: it is not to be had) are the blocks of that picture. The frees since then
 * are judged now, all others as they come: what is freed is a block of older or one that was
 * seen allocated, or the free is wrong. True: so it is; false: no older, records were lost
 * meanwhile, or there were too many frees to remember.
 */
bool live_set_older(struct live *live, struct older *older);
/* True: a block is known to live at address; its size was asked for as *ret bytes. */
bool live_size_at(const struct live *live, uint64_t address, uint64_t *ret);
/* The site of the block that lives at address; 0: none is known there. */
uint32_t live_site_at(const struct live *live, uint64_t address);
/* How many allocations of the thread with this thread pointer were booked. */
uint64_t live_thread_allocs(const struct live *live, uint64_t thread);
/* From now on not every event is recorded (the adaptive mode began to sample). */
void live_set_sampled(struct live *live);
bool live_exact(const struct live *live);
/* True while every allocation was recorded, none drawn: temporary blocks can be told. */
bool live_every_alloc(const struct live *live);
/* False: double and illegal frees can't be told (not complete, or records were lost). */
bool live_complete(const struct live *live);
struct live_events live_events(const struct live *live);
/*
 * Nothing was recorded for a while, until TSC now: what was freed meanwhile is not known, so
 * no block from before counts as live any more (nor as freed: as untracked).
 */
void live_lose_track(struct live *live, uint64_t now);
/* Settles sampled reallocs begun before TSC now - settle_ticks. After each drain. */
void live_settle(struct live *live, uint64_t now);
/* After reader_finish: what is still unsettled was freed (realloc(p, 0)). */
void live_finish(struct live *live);
uint64_t live_count(const struct live *live);
uint32_t live_threads(const struct live *live);
/* What a thread did with blocks, scaled; threads whose pointer was the same are one. */
struct live_thread_figures {
	uint64_t pointer;		/* names it: its thread pointer */
	uint64_t first, last;		/* TSC of its first and last event */
	uint64_t alloc_count, alloc_bytes;
	uint64_t free_count, free_bytes;	/* of blocks that were seen allocated, */
	uint64_t freed_others, freed_others_bytes;	/* by another thread */
	uint64_t live_count, live_bytes;	/* of what it allocated, whoever freed the rest */
};
/* By its small number. pre: number < live_threads(live). */
struct live_thread_figures live_thread_figures(const struct live *live, uint32_t number);
/* What each thread allocated at each site, and whose blocks it freed. */
const struct pairs *live_pairs(const struct live *live);
/* Every live malloc-family block, in no particular order. */
void live_each(const struct live *live,
	       void (*each)(void *context, const struct live_block *block), void *context);

#endif
