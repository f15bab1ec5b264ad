/* SPDX-License-Identifier: MIT */
/*
 * leak_access.h - whether the blocks of a leak report were read or written while some of their
 * words were watched, and where from. Values; not seen is no proof that there was none.
 */
#ifndef MEMATTACH_LEAK_ACCESS_H
#define MEMATTACH_LEAK_ACCESS_H

#include "src/modules/stacks.h"

#define LEAK_PLACE_FRAMES 4u
#define LEAK_MAX_PLACES 4u
#define LEAK_PROBLEM_BYTES 256u

enum leak_access_kind {
	LEAK_ACCESS_EITHER = 0,	/* a read or a write: it was not seen often enough to tell */
	LEAK_ACCESS_READ,
	LEAK_ACCESS_WRITE,	/* or both in one instruction */
};
/* An instruction that accesses blocks of a group, and who called it. */
struct leak_place {
	enum leak_access_kind kind;
	uint64_t hits;
	bool frees;		/* it is the allocator's: the block was freed or moved there */
	uint32_t frame_count;	/* innermost first; the first is as a return address */
	struct frame frame[LEAK_PLACE_FRAMES];
};
/* Of one group. */
struct leak_access {
	double seconds;		/* from the first word watched to the last */
	double armed_seconds;	/* sum over its blocks: how long a word of it was watched */
	uint32_t watched;	/* blocks */
	uint32_t accessed;	/* of these, freed ones not among them */
	uint32_t freed;		/* or moved meanwhile; their words are others' now */
	uint32_t changed;	/* their contents did; by what code was not seen */
	uint64_t hits;
	bool at_least;		/* more than hits: watching a word ends after a few */
	bool disproved;		/* these were called lost; they are not */
	bool doubtful;		/* others of the same origin were; no longer definitely lost */
	uint32_t place_count;	/* by hits, descending */
	struct leak_place place[LEAK_MAX_PLACES];
};
/* Of the whole report. */
struct leak_access_run {
	bool wanted;
	char problem[LEAK_PROBLEM_BYTES];	/* why it was not possible; "" */
	double seconds;
	uint64_t hits;		/* each cost the process some 10 us */
	uint32_t blocks;	/* watched */
	uint32_t threads, threads_there;	/* at the same time; watched, at the most; there */
	bool kernel_unseen;	/* accesses by system calls would not have been seen */
	bool slots_taken;	/* some debug registers were somebody else's */
	bool ended;		/* the process ended meanwhile, or runs another program */
};

#endif
