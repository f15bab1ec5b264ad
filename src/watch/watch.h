/* SPDX-License-Identifier: MIT */
/*
 * watch.h - from ring records to the books: reader, unwinder, live set, sites
 * of one target, while it is attached.
 */
#ifndef MEMATTACH_WATCH_H
#define MEMATTACH_WATCH_H

#include "inject/attach/hook_plan.h"
#include "src/counts/counts_sum.h"
#include "src/live/free_places.h"
#include "src/live/live.h"
#include "src/ring/reader.h"
#include "src/recognition/recognition.h"
#include "src/live/sites.h"
#include "src/live/snapshot.h"
#include "src/watch/held.h"
#include "src/watch/pace.h"
#include "src/watch/stack_places.h"
#include "src/target/target_view.h"
#include "src/live/thread_ids.h"
#include "src/base/ticks.h"
#include "src/live/timeline.h"
#include "src/unwind/unwind.h"

#define WATCH_CALLERS 1024u

struct watch_options {
	enum snapshot_mode mode;
	uint64_t sample_bytes;		/* sampled: mean interval */
	double percent;			/* adaptive: of the target's time may be spent */
	double pair_cost, custom_cost;	/* of malloc's calls, of custom ones: hook_cost.h */
	bool block;			/* a full ring makes the target wait */
	bool leaks;
	bool from_start;		/* the program is just being started */
	bool free_stacks;		/* exact: each free with its stack */
	bool recognise;			/* exact, counts: known stacks go by name */
	bool unhurried;			/* nobody looks on: as little as possible */
	uint64_t verify_stacks;		/* every so many of them are audited; 0: none */
	uint64_t max_memory;		/* bytes, see evict.h; 0: no limit */
	/*
	 * Exact, if not NULL: each call is recorded as it was made. observe gets every event before
	 * it is booked, RING_CALL too; observe_wrong those that turned out to be wrong frees, right
	 * after that. twice: of what was freed before.
	 */
	void (*observe)(void *context, const struct event *event);
	void (*observe_wrong)(void *context, const struct event *event, bool twice);
	void *observer;
};

/* The stack that consists of one caller alone. */
struct watch_caller {
	uint64_t caller, generation;	/* modules_generation */
	uint32_t stack;			/* 0: unused */
};

/* For evict.c. */
struct watch_memory {
	uint64_t peak;			/* bytes */
	uint64_t stacks;		/* that were dropped */
	bool held;			/* somebody remembers ids of sites: none are evicted */
};

struct watch {
	struct target_view *view;
	const struct hook_plan *plan;
	struct watch_options options;
	struct ring_control *control;
	size_t mapped_bytes;
	struct reader *reader;
	struct unwinder *unwinder;	/* borrowed */
	struct recognition *recognition;	/* NULL: every stack is copied */
	struct stacks *stacks;
	struct sites *sites;
	struct live *live;
	struct free_places *places;
	uint64_t next_look_ns;		/* at the target's maps, for a wrong free */
	struct counts *counts;		/* SNAPSHOT_COUNTS; else NULL */
	struct counts_totals counted;	/* at the last point of the timeline */
	uint64_t copied;		/* stacks that are counted by their copies */
	uint64_t counts_ns;		/* CLOCK_MONOTONIC: they were read then */
	struct ticks ticks;
	struct pace pace;
	struct timeline timeline;
	struct { uint64_t alloc, free, map, unmap, unwound, truncated;
		 uint64_t intervals; } events;	/* sum of those that alloc were drawn with */
	struct stack_places stack_places;
	uint64_t next_rules_ns, rules_pause_ns;	/* until rules are tried again */
	uint32_t booked, looked;	/* events; when threads were looked at */
	uint64_t next_between_ns;	/* see watch_keep_up */
	uint64_t begin_ns;
	uint64_t epoch;			/* of the records, as far as it was seen */
	uint64_t resumed;		/* TSC: what is older is not live any more; 0: done */
	bool overwritten;		/* shared memory, by the target: what no epoch can be */
	bool lapsed;			/* nothing was recorded any more when it was ended */
	uint64_t open_gap;		/* TSC cycles: since when, in that case */
	uint64_t audit_generation, audit_from;	/* of the modules; TSC, see watch.c */
	bool begun;			/* the first second is over */
	bool held;			/* see watch_hold_at: nothing makes room */
	int error;			/* first failure while booking: -ENOMEM */
	bool finished;			/* nothing comes any more */
	struct thread_ids threads;
	struct watch_memory memory;
	struct held memory_held;	/* by the target, in which blocks can lie */
	struct watch_caller caller[WATCH_CALLERS];
	uint8_t stack_copy[RING_MAX_STACK_BYTES];
};

/*
 * Opens the ring (descriptor taken) for view and plan; nothing is recorded yet.
 * unwinder and plan are borrowed. 0 or -errno.
 */
int watch_open(struct watch *watch, struct target_view *view, const struct hook_plan *plan,
	       struct unwinder *unwinder, const struct watch_options *options, int ring_fd)
	_must_check_;
/* Books in which nothing will ever stand: for a report of memory alone. 0 or -errno. */
int watch_open_empty(struct watch *watch, struct target_view *view, const struct hook_plan *plan,
		     const struct watch_options *options) _must_check_;
void watch_close(struct watch *watch);
/* From now on events are recorded. pre: all hooks are in. */
void watch_begin(struct watch *watch);
/* From now on none are; what is in the rings can still be drained. */
void watch_end(struct watch *watch);
/*
 * enum ring_confined: how the target has confined itself, as far as is known. It may have written
 * there itself: what nobody of us writes is no reason to end.
 */
static inline uint32_t watch_confined(const struct watch *watch)
{
	const uint32_t known = RING_CONFINED_FILTER | RING_CONFINED_DISPATCH | RING_CONFINED_CLOCK;
	uint32_t confined = __atomic_load_n(&watch->control->confined, __ATOMIC_RELAXED);

	return confined & ~known ? RING_CONFINED_FILTER : confined;
}
/* May its hooks wake who reads? Not for ever, if they may. */
static inline bool watch_is_woken(const struct watch *watch)
{
	return watch->view->hello.may_wait && !watch_confined(watch);
}
/* Hooks that make no calls any more are not counted on. */
static inline void watch_mind_confined(struct watch *watch)
{
	if (watch_confined(watch))
		watch->pace.in.woken = watch->stack_places.by_kernel = false;
}
/* Since hooks were armed; 0: they are not yet. */
double watch_seconds(const struct watch *watch);
/* Books what has been recorded; the number of events. Every few milliseconds. */
int watch_drain(struct watch *watch);
/*
 * The same between the pieces of other work (a search, a file that is written), so that nobody
 * waits for room and the keeper sees us alive. Where threads fill the rings as fast as they are
 * emptied, half of the time is left to that work: else it would never end. context: the watch.
 */
void watch_keep_up(void *context);
/*
 * Books everything from before TSC moment, and nothing from after it until watch_go_on.
 * 0, -ETIME a record from before it is not committed yet (the books lack it).
 */
int watch_hold_at(struct watch *watch, uint64_t moment);
void watch_go_on(struct watch *watch);
/* The last drain: pre: no thread is inside the shim any more. */
void watch_finish(struct watch *watch);
/* Which threads are there, by what names. While hooks are in; last: at the end of watching. */
void watch_look_at_threads(struct watch *watch, bool last);
/* Ends an interval: growth windows, timeline. */
int watch_tick(struct watch *watch) _must_check_;
/* The picture now; session is completed with what the watch knows. 0 or -ENOMEM. */
int watch_snapshot(struct watch *watch, struct snapshot_target *target,
		   struct snapshot_session *session, struct snapshot **ret) _must_check_;

/* For watch_counts.c: a stack that consists of one caller alone. 0 or -ENOMEM. */
int watch_caller_stack(struct watch *watch, uint64_t caller, uint32_t *ret_stack) _must_check_;
/* The stack of an event, by its name, its copy or its caller. 0 or -ENOMEM. */
int watch_stack(struct watch *watch, const struct event *event, uint32_t *ret_stack) _must_check_;
/* The stack of an event that bears a path's name, audited if it has its copy; 0: not known. */
uint32_t watch_named_stack(struct watch *watch, const struct event *event);

#endif
