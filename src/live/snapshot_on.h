/* SPDX-License-Identifier: MIT */
/*
 * snapshot_on.h - when a snapshot is due between two intervals (--snapshot-on): so much was
 * allocated, so much more lives, more lives than ever, somebody asks for it.
 */
#ifndef MEMATTACH_SNAPSHOT_ON_H
#define MEMATTACH_SNAPSHOT_ON_H

#include <stdbool.h>
#include <stdint.h>

/* As in a recording. */
enum snapshot_reason {
	SNAPSHOT_INTERVAL = 0,
	SNAPSHOT_ALLOCATED,
	SNAPSHOT_GREW,
	SNAPSHOT_PEAK,
	SNAPSHOT_SIGNAL,
};
struct snapshot_triggers {
	uint64_t allocated, growth;	/* bytes since the last snapshot; 0: not asked for */
	bool peak;
	bool signal;			/* SIGUSR1 */
};
/* How it stood at the last snapshot. Zeroed at the beginning. */
struct snapshot_on {
	uint64_t allocated, live, highest;
};

/*
 * What a snapshot is due for; SNAPSHOT_INTERVAL: nothing. A peak is one of a percent more than
 * every snapshot saw, as in Massif: else a program that grows would make one with each block.
 */
enum snapshot_reason snapshot_on_due(const struct snapshot_on *on,
				     const struct snapshot_triggers *triggers, uint64_t allocated,
				     uint64_t live);
/* A snapshot was taken, for whatever reason. */
void snapshot_on_taken(struct snapshot_on *on, uint64_t allocated, uint64_t live);

#endif
