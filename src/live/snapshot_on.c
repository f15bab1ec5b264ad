/* SPDX-License-Identifier: MIT */
/*
 * snapshot_on.c - see snapshot_on.h.
 *
 * It is looked at whenever the rings were emptied, a few milliseconds apart: the snapshot is of
 * some moment after the condition came true, and says of which.
 */
#include "src/live/snapshot_on.h"

#define PEAK_SHARE	100u	/* a hundredth more */

enum snapshot_reason snapshot_on_due(const struct snapshot_on *on,
				     const struct snapshot_triggers *triggers, uint64_t allocated,
				     uint64_t live)
{
	if (triggers->peak && live > on->highest && live - on->highest > on->highest / PEAK_SHARE)
		return SNAPSHOT_PEAK;
	if (triggers->growth && live > on->live && live - on->live >= triggers->growth)
		return SNAPSHOT_GREW;
	if (triggers->allocated && allocated > on->allocated &&
	    allocated - on->allocated >= triggers->allocated)
		return SNAPSHOT_ALLOCATED;
	return SNAPSHOT_INTERVAL;
}

void snapshot_on_taken(struct snapshot_on *on, uint64_t allocated, uint64_t live)
{
	on->allocated = allocated;
	on->live = live;
	if (live > on->highest)
		on->highest = live;
}
