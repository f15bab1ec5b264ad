/* SPDX-License-Identifier: MIT */
/*
 * attachment.h - what lies in a target on our behalf, as the keeper knows it.
 *
 * Filled by load and hooks on the way in, emptied by them on the way out. The
 * same facts stand in the journal inside the target (struct ring_journal), so
 * that a later cleanup can rebuild this struct without us.
 */
#ifndef MEMATTACH_ATTACHMENT_H
#define MEMATTACH_ATTACHMENT_H

#include "inject/attach/hook_plan.h"
#include "inject/attach/shim_layout.h"
#include "inject/tracee/target.h"

enum attachment_loader { LOADER_AUTO = 0, LOADER_DLOPEN = 1, LOADER_MAP = 2 };

/* Sizes of the shared memory (ring_setup.c). */
struct ring_geometry {
	uint32_t ring_count;
	uint64_t ring_bytes;		/* of one ring, a power of two */
	uint64_t thread_slots, table_slots;	/* powers of two */
	uint64_t seen_slots, shadow_slots;	/* powers of two; 0: no recognition of stacks */
	uint64_t rules_bytes;
	uint32_t counts_kind;		/* enum counts_kind */
	uint64_t counts_slots;		/* a power of two; 0: nothing is counted */
	uint64_t total_bytes;
};

/* Mappings that the target's own calls say to have made, in the stop that brings it in. */
struct load_seen {
	bool ring, shim;	/* with ring_place's guards; at shim_place, all of it */
	uint32_t islands;	/* the first ones */
};

/* A file's mapping that a dlopen which failed has made, and knows nothing of. */
struct load_stray {
	uint64_t address, bytes, inode;
};

struct attachment {
	struct target target;
	struct shim_layout layout;
	enum attachment_loader loader;
	struct ring_geometry geometry;
	int ring_fd, shim_fd;		/* our descriptors of the target's memfds, -1 */
	int remote_fd[2];	/* of the memfds in the target while they are open there, -1 */
	uint64_t inode[2];	/* of ring and shim, as we made them; 0: adopted */
	struct ring_control
		*control; /* our mapping of the ring (adopted: a copy of its start), NULL */
	uint64_t control_bytes;		/* length of that mapping */
	struct deadline *clock;		/* while the shim may record, NULL */
	bool unhurried;			/* nobody ever waits for us: the clock may tick slowly */
	bool samples;			/* the session's mode will be RING_MODE_SAMPLE */
	uint64_t ring_place, shim_place;	/* chosen addresses */
	uint64_t ring_base, shim_base;	/* in the target, 0: not mapped */
	uint64_t ring_low, ring_high;	/* with its guards; known on the way out */
	uint64_t dl_handle;		/* dlopen loader */
	bool pending;			/* a dlopen may still be at work */
	bool half;	/* at shim_base lies a part, left by a dlopen that failed: dlclose can't */
	pid_t inside;		/* the thread that had not come back from dlopen or dlclose, 0 */
	uint64_t inside_mask;	/* what it blocks until then, as /proc shows it */
	struct ring_journal journal; /* ours; the one in the ring is a copy for a later cleanup */
	struct ring_island island[RING_MAX_ISLANDS];	/* island_count of them are mapped */
	uint32_t island_count;
	struct load_seen seen;
	struct load_stray stray;	/* bytes 0: none */
	uint64_t nothing_leads_in;	/* islands_surroundings() of when that was seen, 0 */
	struct hook_plan plan;
	uint64_t stop_us_max;		/* longest that one thread was held, this way in or out */
	uint32_t threads_stopped;
};

/* Takes the maximum of held_us into stop_us_max and counts a stop. */
static inline void attachment_note_stop(struct attachment *a, uint64_t held_us, uint32_t threads)
{
	if (held_us > a->stop_us_max)
		a->stop_us_max = held_us;
	a->threads_stopped += threads;
}

#endif
