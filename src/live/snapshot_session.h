/* SPDX-License-Identifier: MIT */
/* snapshot_session.h - what a snapshot says of the target, and of how it was watched. */
#ifndef MEMATTACH_SNAPSHOT_SESSION_H
#define MEMATTACH_SNAPSHOT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum snapshot_mode { SNAPSHOT_ADAPTIVE = 0, SNAPSHOT_SAMPLED, SNAPSHOT_EXACT, SNAPSHOT_COUNTS };
enum snapshot_loader { SNAPSHOT_LOADER_DLOPEN = 0, SNAPSHOT_LOADER_MAP };
enum snapshot_detached {
	SNAPSHOT_ATTACHED = 0,	/* still watching */
	SNAPSHOT_PRISTINE,
	SNAPSHOT_DORMANT,
	SNAPSHOT_TARGET_ENDED,
};
/* Names as in the JSON document; NULL for SNAPSHOT_ATTACHED. */
const char *snapshot_mode_name(enum snapshot_mode mode);
const char *snapshot_loader_name(enum snapshot_loader loader);
const char *snapshot_detached_name(enum snapshot_detached detached);
struct snapshot_allocator {
	char *name, *version, *module;
	size_t hooked_count;
	char **hooked;			/* entry points */
	size_t unhooked_count;
	char **unhooked;		/* those that are not seen: "name (module): why" */
};
struct snapshot_target {
	int pid;
	char *exe, *cmdline;		/* cmdline: arguments joined by a space */
	double start_time;		/* seconds since 1970 */
	uint32_t threads;
	uint64_t rss_bytes, vsz_bytes;
	uint32_t owner;			/* user id by whose rights it opens files, + 1; 0 unknown */
	size_t allocator_count;
	struct snapshot_allocator *allocator;
};
#define SNAPSHOT_MAX_CHILDREN 16u
#define SNAPSHOT_BECAME_BYTES 400u
/* Forked by the target while it was watched; keeps hooks that do nothing. */
struct snapshot_child {
	int pid;
	char reason[256];
};
/* What a picture told of the blocks from before the attach. */
struct snapshot_older {
	bool asked;			/* exact, and leaks were asked for; else all of it is 0 */
	bool judged;
	char why[160];			/* what is not covered, for people; "" nothing */
	uint64_t count, bytes;		/* blocks, usable bytes */
	uint64_t memory_bytes;		/* that memattach took to remember them */
	uint64_t pause_us;		/* that the picture took */
};
/* What --max-memory made of a session (docs/MEMORY.md). */
struct snapshot_memory {
	uint64_t limit_bytes;		/* 0: there was none */
	uint64_t used_bytes, peak_bytes;	/* that memattach remembers things with */
	uint64_t evicted_sites, evicted_stacks;	/* those that came back and went again twice */
	uint64_t evicted_alloc_count, evicted_alloc_bytes;	/* what those sites had allocated */
	uint64_t thinned_blocks, thinned_bytes;	/* not remembered one by one */
	uint64_t thinned_interval_bytes;	/* a sample of those that live is: 0: all are */
};
struct snapshot_session {
	char *version;			/* of memattach */
	enum snapshot_mode mode;
	enum snapshot_loader loader;
	bool started;			/* it was watched from its program's beginning on */
	double begin_time;		/* seconds since 1970 */
	double duration;		/* seconds watched */
	uint64_t max_recording, given_up;	/* bytes, 0: no limit; snapshots, for its sake */
	double recorded_seconds;	/* of the recording of which this is a moment; 0: of none */
	uint64_t sample_interval_bytes;	/* present mean; 0: every event */
	double overhead_percent;	/* measured; negative: not measured */
	uint64_t attach_stop_us_max, detach_stop_us_max;
	uint32_t threads_stopped;
	enum snapshot_detached detached;
	struct { uint64_t alloc, free, map, unmap; } events;	/* booked; set by snapshot_take */
	struct { uint64_t alloc, free, stack, map, alloc_bytes;
		 uint64_t hidden, hidden_bytes;	/* what lost allocations can stand for */
	} lost;
	struct { uint64_t distinct, unwound, truncated, recognised, audited, mismatched; } stacks;
	double blocked_seconds;		/* the target's threads waited for the reader, summed */
	uint64_t corrupt;		/* rings that made no sense */
	uint64_t gaps;			/* times at which recording was interrupted */
	double gap_seconds;		/* and for how long, all together */
	struct snapshot_memory memory;
	struct snapshot_older older;
	unsigned int signal;		/* that ended the target; 0: none, or unknown; unrecorded */
	char became[SNAPSHOT_BECAME_BYTES];	/* by exec, when the watch ended; unrecorded */
	uint32_t unwatched;		/* children that it left, and that go on; unrecorded */
	int32_t unwatched_pid[SNAPSHOT_MAX_CHILDREN];
	uint32_t children_left;		/* the first SNAPSHOT_MAX_CHILDREN are named; unrecorded */
	struct snapshot_child child[SNAPSHOT_MAX_CHILDREN];
};

#endif
