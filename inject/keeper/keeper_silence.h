/* SPDX-License-Identifier: MIT */
/* keeper_silence.h - for how long an analyst that could have answered has not. */
#ifndef MEMATTACH_KEEPER_SILENCE_H
#define MEMATTACH_KEEPER_SILENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SILENCE_TICK 16u	/* a whole tick of it, in the units of total */

struct keeper_silence {
	unsigned int total;	/* since it was last heard */
	uint64_t looked_ns, waited_ns;	/* last: when, and how long it had waited to run in all */
};

/*
 * What counts of a tick that took elapsed_ns, waited_ns of which the analyst waited for a
 * processor. Who gets none on a crowded machine does not hang; who does hang is to be found out
 * there, too, so a quarter always counts.
 */
unsigned int keeper_silence_of(uint64_t elapsed_ns, uint64_t waited_ns);
/*
 * A tick in which the analyst (pid; 0: not known) was not heard, or was. Returns the part of it in
 * which the analyst could have run.
 */
unsigned int keeper_silence_tick(struct keeper_silence *silence, pid_t analyst, bool heard);

#endif
