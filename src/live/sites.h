/* SPDX-License-Identifier: MIT */
/*
 * sites.h - the books: who allocated how much, per call stack and in total.
 *
 * Only live.h writes here; snapshots read.
 */
#ifndef MEMATTACH_SITES_H
#define MEMATTACH_SITES_H

#include "src/live/estimate.h"
#include "src/live/lifetimes.h"
#include "src/live/site_resizes.h"
#include "src/live/size_set.h"
#include "src/modules/stacks.h"

/*
 * A peak that was made while blocks that live were drawn: what of it was seen for certain, and the
 * variance of the rest. It is that of a peak of the same level; another was all certain.
 */
struct site_peak {
	uint64_t level, seen;	/* as peak_level; bytes */
	double variance;
};

enum site_kind { SITE_MALLOC = 0, SITE_MMAP, SITE_CUSTOM };

/* How the site stood when a window began (sites_tick). */
struct site_window {
	uint64_t level;		/* estimate_level(&live) */
	uint64_t samples;	/* allocation records */
};

/*
 * What was freed is alloc - live (- untracked): no sum of its own. The fields are in the order of
 * how often they change: what the end of a block changes in an exact session takes three cache
 * lines (sites_foresee_end), and what an allocation does five.
 */
struct site {
	uint32_t id;		/* from 1 */
	uint32_t stack;		/* in struct stacks; 0: unknown */
	enum site_kind kind;
	uint16_t skip_frames;	/* innermost frames that are the allocator's own */
	bool allocator;		/* a mapping made by an allocator for its own use */
	bool evicted;		/* is to be merged into another: site_evict.c */
	uint32_t last_thread;	/* the last that allocated here */
	uint32_t thread_count;	/* distinct threads */
	uint64_t thread_bits;	/* which of threads 0 .. 63 allocated here */
	uint64_t last_time;	/* TSC of the last event */
	uint32_t pair, pair_thread;	/* its pair found last (pairs.h), + 1, and its thread */
	uint64_t temporary_count;	/* see live_every_alloc */
	uint64_t peak_level;	/* of estimate_level(&live) */
	struct lifetimes lifetimes;	/* without the last blocks': sites_lifetimes() */
	/* Before its last change, in case that the group's peak was then: see sites_at_peak. */
	uint64_t left_level, left_count;
	uint64_t changed;	/* in the order of all changes */
	uint64_t first_time;	/* TSC of the first event */
	struct estimate live;
	struct estimate alloc;	/* from here on: allocations only */
	uint64_t size_low, size_high;	/* smallest and largest requested size; none: low > high */
	struct size_set sizes;		/* all of them */
	/* Changed while sampling, and seldom: */
	struct estimate untracked;	/* allocated; whether it lives can't be known */
	struct site_window window, previous;
	uint32_t resized;	/* number in resizes (site_side.h); 0: nothing was resized here */
	struct site_peak peak;
	uint32_t moves;		/* in moves; 0: nothing was drawn here; or SITE_MOVES_UNKNOWN */
};
#define SITE_MOVES_UNKNOWN UINT32_MAX

/* Sums over one group of sites: one of the kinds, or allocators' mappings. */
struct site_totals {
	struct estimate live, alloc, untracked;
	uint64_t peak_level;		/* of estimate_level(&live) */
	uint64_t peak_change;		/* the change (site.changed) that made it */
	struct site_peak peak;
	uint64_t temporary_count;	/* see live_every_alloc */
	uint64_t overhead_level;	/* of live blocks, in 1 / ESTIMATE_BYTES_ONE */
};

/* What was freed and could not be matched, and what was found out by chance. */
struct site_oddities {
	uint64_t free_unknown;	/* allocated before the attach, or by an entry that is not hooked */
	uint64_t double_free, illegal_free;	/* exact mode only */
	uint64_t missed_free;	/* an allocation at a live address: its free was not seen */
	uint64_t untracked;	/* sampled blocks whose free can't be seen */
	uint64_t unmap_unknown_bytes;	/* unmapped, not mapped before our eyes; 2^47 at the most */
};

/* Code of an allocator: its frames are never shown, its own mappings are booked apart. */
struct frame_range {
	uint32_t module;	/* id in modules.h; 0: low and high are addresses */
	uint64_t low, high;	/* offsets as in struct frame, high exclusive */
};

struct sites;
/* stacks is borrowed, with its tags, and must outlive the sites. 0 or -ENOMEM. */
int sites_new(struct stacks *stacks, struct sites **ret) _must_check_;
void sites_free(struct sites *sites);
/*
 * Sets the allocators' own code (copied, replaces what was set before). Applies
 * to sites first seen later: call before events are drained, and again when a module comes.
 * 0 or -ENOMEM.
 */
int sites_set_allocator_frames(struct sites *sites, const struct frame_range *range,
			       size_t count) _must_check_;
/* How many innermost frames of stack are the allocator's own. */
uint16_t sites_skip_frames(const struct sites *sites, uint32_t stack);
/* The site of (stack, kind), made if new. NULL: no memory. Valid until sites are evicted. */
struct site *sites_get(struct sites *sites, uint32_t stack, enum site_kind kind);
/* An allocation by that stack will come soon; stage as of recognition_foresee, 1 and 2. */
void sites_foresee(const struct sites *sites, unsigned int stage, uint32_t stack);
/* The end of a block of that site will come soon. Any id. */
void sites_foresee_end(const struct sites *sites, uint32_t id);
/* By id, NULL when there is none. Valid until sites are evicted. */
struct site *sites_find(struct sites *sites, uint32_t id);
const struct site *sites_peek(const struct sites *sites, uint32_t id);
/* How long blocks of site lived, until now. Valid until the next event. */
const struct lifetimes *sites_lifetimes(const struct sites *sites, const struct site *site);
/* The last id; some of those before may be no more (site_evict.h). */
uint32_t sites_count(const struct sites *sites);
/* Those that there are: [0, sites_places()), in the order of their ids. */
uint32_t sites_places(const struct sites *sites);
const struct site *sites_at(const struct sites *sites, uint32_t place);
/* Where it is among them; UINT32_MAX: it is no more. */
uint32_t sites_place(const struct sites *sites, uint32_t id);

/* One block or mapping comes or goes. */
struct site_change {
	struct estimate_term term;
	uint64_t time, born;	/* TSC of this event, and of the allocation */
	uint64_t overhead;	/* bytes of the block that were not asked for */
	uint32_t thread;	/* small number, see live.c */
	bool temporary;		/* freed by its own thread with no other allocation in between */
	bool untracked;		/* its end will not be seen: counted as allocated, not as live */
	bool thinned;		/* what it adds to those that live is lives, not term: */
	struct estimate_term lives;	/* all 0: nothing, it was not drawn (live_thin.c) */
};
/* Books an allocation and what follows from it: totals, peaks, histogram, threads. */
void sites_alloc(struct sites *sites, struct site *site, const struct site_change *change);
/* Books the end of a block: lifetimes, temporary, totals. pre: it was booked by sites_alloc. */
void sites_release(struct sites *sites, struct site *site, const struct site_change *change);
/* It is no longer known whether a block lives: it counts as untracked, as of now. pre: as above. */
void sites_lose(struct sites *sites, struct site *site, const struct site_change *change);
/* A block that lives counts as after from now on, not as before. NULL: not at all. */
void sites_thin(struct sites *sites, struct site *site, const struct site_change *before,
		const struct site_change *after);
/* Books a call of realloc at the site; term: the block that it was drawn by. 0 or -ENOMEM. */
int sites_resize(struct sites *sites, struct site *site, enum site_resize how,
		 const struct site_change *change) _must_check_;
/*
 * And what is known besides of that call, which stands for weight such calls; bytes: of
 * SITE_COPIED, what it copied. pre: sites_resize.
 */
void sites_resize_known(struct sites *sites, const struct site *site, enum site_resize_known how,
			double weight, uint64_t bytes);
/* NULL: nothing was resized there. */
const struct site_resizes *sites_resizes(const struct sites *sites, const struct site *site);
/*
 * Part of a mapping goes: change->term.size bytes leave; its count only if whole.
 * sites_regrow takes that back (the munmap failed). pre: the term is certain.
 */
void sites_shrink(struct sites *sites, struct site *site, const struct site_change *change,
		  bool whole);
void sites_regrow(struct sites *sites, struct site *site, const struct site_change *change,
		  bool whole);

/* What was freed at the site, or of the group. */
struct estimate sites_freed(const struct site *site);
struct estimate sites_totals_freed(const struct site_totals *totals);
/* What lived of the site when its group was at its peak; in sampled mode an estimate of it. */
struct site_level {
	uint64_t bytes, count;
};
struct site_level sites_at_peak(const struct sites *sites, const struct site *site);
/* kind SITE_MALLOC or SITE_MMAP; mappings by allocators are in sites_allocator_maps instead. */
const struct site_totals *sites_totals(const struct sites *sites, enum site_kind kind);
const struct site_totals *sites_allocator_maps(const struct sites *sites);
struct site_oddities *sites_oddities(struct sites *sites);
const struct site_oddities *sites_oddities_peek(const struct sites *sites);
/* Requested sizes, ascending, with their (weighted) numbers; returns how many. each: or NULL. */
size_t sites_histogram(const struct sites *sites,
		       void (*each)(void *context, uint64_t size, double count), void *context);

/*
 * Ends an interval at TSC now. Growth is measured over the last half to three
 * quarters of the session: windows are renewed whenever their number doubles.
 */
void sites_tick(struct sites *sites, uint64_t now);
struct site_growth {
	struct estimate_interval bytes;	/* change of the site's live bytes over the windows */
	uint64_t ticks;			/* from their beginning to now */
	uint64_t samples;		/* allocation records in them */
};
/* begin: TSC at which the session began. */
struct site_growth sites_growth(const struct sites *sites, const struct site *site,
				struct estimate_unseen unseen, uint64_t begin, uint64_t now);

#endif
