/* SPDX-License-Identifier: MIT */
/* stack_scan.h - does any word that a thread could return by point into a range? */
#ifndef MEMATTACH_STACK_SCAN_H
#define MEMATTACH_STACK_SCAN_H

#include "inject/tracee/target.h"

/* low <= address < high */
struct stack_range {
	uint64_t low, high;
	bool islands;	/* struct ring_island_entry[]: hooks keep the address of .original, too */
	/*
	 * Whoever has a call under way in here has one in [calls_low, calls_high) as well, whose
	 * return address lies further up on the same stack and is gone when that one has
	 * returned. 0: that is not known, any word may be a return address.
	 */
	uint64_t calls_low, calls_high;
};
struct stack_scan {
	const struct target *target;
	const struct procmaps *maps;	/* as of now; owned by the caller */
	const struct stack_range *range;
	size_t count;
};

bool stack_scan_hits(const struct stack_scan *s, uint64_t value);
/*
 * True when no aligned word in [sp, end) leads into a range, nor any of the stacks on
 * which a signal handler whose frame lies there interrupted the thread, from the
 * interrupted stack pointer to end or to the end of its mapping. False, too,
 * where that is more than can be read.
 */
bool stack_scan_clean(const struct stack_scan *s, uint64_t sp, uint64_t end);
/* As that; the first count words from sp (down to a multiple of 8) up are known already. */
bool stack_scan_clean_known(const struct stack_scan *s, uint64_t sp, uint64_t end,
			    const uint64_t *word, size_t count);

#endif
