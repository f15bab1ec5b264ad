/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - one immutable picture of a session: all that a report needs. It owns what it points
 * to. Figures are estimates already scaled to the truth and rounded; bytes, blocks, seconds.
 */
#ifndef MEMATTACH_SNAPSHOT_H
#define MEMATTACH_SNAPSHOT_H

#include "src/live/doubt.h"
#include "src/live/live.h"
#include "src/ring/reader.h"
#include "src/live/sites.h"
#include "src/live/snapshot_counts.h"
#include "src/live/snapshot_session.h"
#include "src/live/snapshot_wrong.h"
#include "src/live/snapshot_on.h"
#include "src/base/ticks.h"
#include "src/live/timeline.h"

const char *snapshot_kind_name(enum site_kind kind);

/* Of an estimate, the ends of its 95 % interval, losses included; the same: it is exact. */
struct snapshot_bounds {
	uint64_t low, high;
};
struct snapshot_intervals {
	struct snapshot_bounds alloc_count, alloc_bytes, free_count, free_bytes, live_count;
	struct snapshot_bounds peak_live_bytes;
	struct snapshot_bounds temporary_count;	/* every_alloc only */
};
struct snapshot_totals {
	uint64_t alloc_count, alloc_bytes, free_count, free_bytes;
	uint64_t double_free_count, illegal_free_count;	/* complete only */
	uint64_t free_unknown_count;	/* exact only */
	uint64_t temporary_count;	/* every_alloc only */
	uint64_t overhead_bytes, live_count, live_bytes, peak_live_bytes;
	uint64_t live_bytes_low, live_bytes_high;
	struct snapshot_intervals in;	/* if intervals */
	uint64_t missed_free_count, untracked_count, samples;	/* samples: records behind it */
};
struct snapshot_map_totals {
	uint64_t map_count, map_bytes, unmap_count, unmap_bytes;
	uint64_t live_count, live_bytes, peak_live_bytes;
	uint64_t allocator_live_bytes;	/* mapped by allocators: holds the blocks above */
	uint64_t unmap_unknown_bytes;
};
struct snapshot_bar {
	uint64_t size, count;		/* requested bytes: number of allocations */
};

#define SNAPSHOT_FEWEST_SAMPLES 5u	/* fewer say nothing of a site */
enum snapshot_verdict {
	SNAPSHOT_TOO_FEW = 0,	/* samples: none of the others can be told */
	SNAPSHOT_GROWING,	/* the interval of its growth excludes zero */
	SNAPSHOT_STEADY,
	SNAPSHOT_TEMPORARY,	/* mostly temporary allocations */
	SNAPSHOT_FREED,		/* nothing lives any more */
	SNAPSHOT_UNKNOWN,	/* at a moment of a recording: the verdict is of its end */
};
/* In documents, and for people. NULL: unknown. */
const char *snapshot_verdict_name(enum snapshot_verdict verdict);
const char *snapshot_verdict_words(enum snapshot_verdict verdict);
struct snapshot_site {
	uint32_t id, stack;
	enum site_kind kind;
	uint16_t skip_frames;		/* innermost frames to leave out: the allocator's own */
	enum snapshot_verdict verdict;
	uint64_t live_count, live_bytes, live_bytes_low, live_bytes_high;
	struct snapshot_intervals in;	/* if site_intervals; not free_bytes */
	uint64_t alloc_count, alloc_bytes, free_count, peak_live_bytes;
	uint64_t temporary_count;	/* every_alloc only */
	uint64_t samples;		/* allocation records behind it */
	uint32_t threads;
	double lifetime_p50, lifetime_p90, lifetime_max;	/* seconds; 0 when none was freed */
	double first_time, last_time;	/* seconds since the session began */
	double growth, growth_low, growth_high;	/* bytes/s over the later part of the session */
	uint64_t at_peak_bytes, at_peak_count;	/* live when its kind's total was at its most */
	uint64_t size_low, size_high;	/* of requests */
	struct size_set sizes;		/* of requests; empty: not known */
	struct site_resizes resizes;	/* scaled: calls and bytes */
};

#define SNAPSHOT_MAX_ADDRESSES 16u
/* Allocated since the attach and not freed, by site. */
struct snapshot_leak {
	uint32_t site;			/* id */
	uint64_t count, bytes;
	uint32_t address_count;
	uint64_t address[SNAPSHOT_MAX_ADDRESSES];	/* the oldest */
	double oldest;			/* seconds since the session began */
};

struct snapshot {
	bool exact;			/* every event was to be seen: unknown frees are known */
	bool every_alloc;		/* no allocation was drawn: temporary blocks are known */
	bool complete;			/* nothing was missed: double, illegal frees are known */
	bool has_leaks;
	bool site_peaks;		/* at_peak_* and size_* of sites are known */
	bool resizes;			/* and what became of reallocs */
	bool intervals, site_intervals;	/* totals.in, and .in of sites are known */
	enum snapshot_reason reason;	/* that it was taken for */
	struct snapshot_target target;
	struct snapshot_session session;
	struct snapshot_totals totals;
	struct snapshot_map_totals map_totals;
	struct snapshot_counts counts;	/* where blocks are counted, and not known */
	size_t timeline_count, histogram_count, site_count, leak_count, wrong_free_count;
	size_t step_count;
	uint64_t wrong_free_left_out;	/* kinds of them beyond WRONG_FREES_MAX: how many frees */
	struct timeline_point *timeline;
	struct snapshot_bar *histogram;	/* ascending */
	/*
	 * By live_bytes (not if only counted), descending; then alloc_bytes, id. Behind them
	 * tried_count sites at which reallocs failed, or freed, and nothing was ever allocated: for
	 * .resizes only.
	 */
	struct snapshot_site *site;
	size_t tried_count;
	struct snapshot_leak *leak;	/* by bytes, descending */
	struct snapshot_step *step;	/* counted: by site, low */
	struct snapshot_wrong_free *wrong_free;	/* as first seen; exact only */
};

/* Everything is borrowed for the call; strings in target and session are copied. */
struct snapshot_input {
	const struct snapshot_target *target;
	const struct snapshot_session *session;	/* lost: see snapshot_session_losses */
	const struct sites *sites;
	const struct live *live;
	const struct timeline *timeline;	/* NULL: none */
	const struct ticks *ticks;
	uint64_t now;			/* TSC of the picture: reader_time() */
	struct doubt doubt;		/* but for .thinned and .smallest, which follow from live */
	bool leaks;
};
/* 0 or -ENOMEM. */
int snapshot_take(const struct snapshot_input *input, struct snapshot **ret) _must_check_;
/* Puts the sites into their order. */
void snapshot_order_sites(struct snapshot *snapshot);
/* Index of the first step of that site, or of none. */
size_t snapshot_steps_of(const struct snapshot *snapshot, uint32_t site);
/* Is it known what lives of the site's blocks (of all; site NULL)? */
bool snapshot_knows_live(const struct snapshot *snapshot, const struct snapshot_site *site);
/* An empty one for recording_read to fill; its strings and arrays come from malloc. */
int snapshot_new(struct snapshot **ret) _must_check_;
/* True if functions of an allocator of the target are not hooked: what goes through is not seen. */
bool snapshot_is_partial(const struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);
/* Copies a reader's losses into session.lost, blocked_seconds and corrupt. */
void snapshot_session_losses(struct snapshot_session *session, const struct reader_losses *losses,
			     const struct ticks *ticks);
/* The doubt of input's figures, with what its books say of it. */
struct doubt snapshot_doubt(const struct snapshot_input *input);
/*
 * Sets what the next point of the timeline has from the books: changes since the last one, levels
 * now, their intervals; timeline->base moves on. Of input: sites, live, doubt. A point that is not
 * added (timeline_add) counts in the next one.
 */
void snapshot_point(const struct snapshot_input *input, struct timeline *timeline,
		    struct timeline_point *point);

#endif
