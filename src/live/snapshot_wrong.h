/* SPDX-License-Identifier: MIT */
/* snapshot_wrong.h - double and illegal frees in a snapshot (snapshot.h). */
#ifndef MEMATTACH_SNAPSHOT_WRONG_H
#define MEMATTACH_SNAPSHOT_WRONG_H

#include "src/live/wrong_frees.h"

/* Who did something to a block, and when. */
struct snapshot_call {
	uint32_t stack;			/* 0: not seen */
	uint16_t skip_frames;
	uint32_t thread;		/* as they were first seen; or FREED_NO_THREAD */
	double time;			/* seconds since the session began */
};
#define SNAPSHOT_CALL_BYTES 48u
/* A free or realloc of what was freed already or is no block; alike ones are one. */
struct snapshot_wrong_free {
	enum wrong_free_reason reason;
	char call[SNAPSHOT_CALL_BYTES];	/* "free", "realloc", ...; set by watch_snapshot */
	uint16_t entry;			/* the same, as an index in the hook plan */
	bool realloc;
	uint64_t count, address;	/* address and the rest: of the first */
	uint64_t block_address, block_size;	/* 0: no block is known; size 0: not known */
	struct snapshot_call allocated, freed_first, freed;
};

#endif
