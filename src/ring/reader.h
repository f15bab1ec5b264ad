/* SPDX-License-Identifier: MIT */
/*
 * reader.h - takes records out of the per-CPU rings, in an order that keeps
 * every address's history right, and gives the room back.
 *
 * The rings are hostile memory: nothing a target writes there can crash the
 * reader, make it loop, or make it read outside the mapping.
 */
#ifndef MEMATTACH_READER_H
#define MEMATTACH_READER_H

#include "src/ring/event.h"

struct reader_source {
	void *mapping;		/* the whole shared area, readable and writable; borrowed */
	size_t bytes;		/* its true length (fstat), not what control says */
	uint64_t (*clock)(void);	/* TSC; NULL: ticks_now (others for tests) */
};

/* What was not recorded, since reader_new. The target counts: a lie harms its report only. */
struct reader_losses {
	uint64_t alloc, free, map;	/* records dropped for want of room */
	uint64_t stack;			/* records whose stack was dropped */
	uint64_t alloc_bytes;		/* bytes asked for by the dropped alloc records */
	uint64_t hidden, hidden_bytes;	/* what these stand for at the most: blocks, bytes */
	uint64_t free_booked;		/* of free: those whose block was not lost before */
	uint64_t blocked;		/* times a thread waited for room (RING_OVERFLOW_BLOCK) */
	uint64_t blocked_ticks;		/* for how long, all threads together */
	uint64_t table;			/* sampled blocks with no room in the address table */
	uint64_t threads;		/* calls with no slot in the thread table: still recorded */
	uint64_t call;			/* RING_CALL records dropped: nothing depends on them */
	uint64_t spent_ticks;		/* TSC, in which threads of the target made records */
	uint64_t corrupt;		/* times a ring made no sense and was emptied unread */
	uint64_t abandoned;		/* records reserved and never committed (reader_finish) */
};

struct reader;
/* Called for each event, in order. The event is valid until it returns. */
typedef void (*reader_event_fn)(void *context, const struct event *event);

/* An event to come. */
struct reader_hint {
	uint64_t address;	/* of its block */
	uint64_t path;		/* name of its call path, 0: none */
	uint64_t found[2];	/* for fn: what a stage leaves for the next ones, 0 at first */
};
/*
 * Called for those that come to a stage, one for each; NULL: none does. An event comes to
 * stage 0 first, some events later to the next, to READER_STAGES - 1 last.
 */
#define READER_STAGES	4u
typedef void (*reader_foresee_fn)(void *context, struct reader_hint *const hint[READER_STAGES]);

/*
 * Checks the control block (once; it is copied) and starts at the rings' present
 * tails. 0, -EBADMSG the control block is not one or does not fit the mapping, -ENOMEM.
 */
int reader_new(const struct reader_source *source, struct reader **ret) _must_check_;
void reader_free(struct reader *reader);
/*
 * Hands over everything that was recorded before now (records in the making and
 * what could depend on them come with a later call) and frees its room. Returns
 * the number of events. One call reads at the most what lay in the rings when it began.
 */
int reader_drain(struct reader *reader, reader_event_fn fn, void *context);
/*
 * From now on fn is told of most allocations and frees before they are handed over, and of some
 * that never will be: so that memory that they will need can be on its way.
 */
void reader_foresee(struct reader *reader, reader_foresee_fn fn, void *context);
/*
 * From now on records of TSC not_after and later stay where they are; 0: no longer. So that
 * the books can be looked at as they were at that moment.
 */
void reader_hold(struct reader *reader, uint64_t not_after);
/*
 * The last drain: pre: no thread of the target is inside a hook any more. Takes
 * everything that is committed; what is not never will be, and counts as abandoned.
 */
int reader_finish(struct reader *reader, reader_event_fn fn, void *context);
/*
 * Sleeps until a ring is half full (the target then wakes us), nanoseconds at the
 * most; returns at once if one is already. Between drains; costs the target nothing
 * until then.
 */
void reader_wait(const struct reader *reader, uint64_t nanoseconds);
/*
 * The same; came(context) is asked when who stores 0 to reader_asleep would end the sleep, so that
 * somebody who tells something otherwise and then does that is not missed.
 */
void reader_wait_unless(const struct reader *reader, uint64_t nanoseconds,
			bool (*came)(void *context), void *context);
/* How full the fullest ring is now, 0 to 1. For the overload controller. */
double reader_backlog(const struct reader *reader);
/* Does the target lose allocations at once, as there was no room? */
bool reader_is_pressed(const struct reader *reader);
/* Losses so far. Any time, also from inside the callback. */
void reader_losses(const struct reader *reader, struct reader_losses *ret);
/*
 * How many records are missing that others may depend on (live_options.lost). Abandoned ones
 * are not: their writers ended with the target, before anybody could know of what they did.
 * context: the reader.
 */
uint64_t reader_lost_records(void *context);
/* The TSC before which the last drain was complete (0: none yet). */
uint64_t reader_time(const struct reader *reader);

#endif
