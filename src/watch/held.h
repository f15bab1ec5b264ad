/* SPDX-License-Identifier: MIT */
/*
 * held.h - how much memory the target had in which blocks can lie: no estimate of what lives is
 * beyond it.
 */
#ifndef MEMATTACH_HELD_H
#define MEMATTACH_HELD_H

#include <stdint.h>

#include "src/live/sites.h"

/* In bytes. All 0 before the first look. */
struct held {
	uint64_t first, before, last, most;
};

/* data: target_sizes.data now; 0, not known, is no look. */
void held_look(struct held *held, uint64_t data);
/* Now, or a moment ago; 0: not known. */
uint64_t held_now(const struct held *held);
/*
 * Ever since the first look: what was seen, or what there was at first with the most that was
 * mapped since, whichever is more. pre: no record of a mapping was lost. 0: not known.
 */
uint64_t held_peak(const struct held *held, const struct sites *sites);

#endif
