/* SPDX-License-Identifier: MIT */
/*
 * unwind_repeats.h - where a walk has left the stack, and reads the same return address for ever.
 */
#ifndef MEMATTACH_UNWIND_REPEATS_H
#define MEMATTACH_UNWIND_REPEATS_H

#include "src/modules/modules.h"
#include "src/modules/stacks.h"

#define UNWIND_REPEATS 16u	/* equal frames in a row that are too many to be believed */

struct unwind_repeats;
/* modules is borrowed. 0 or -ENOMEM. */
int unwind_repeats_new(const struct modules *modules, struct unwind_repeats **ret) _must_check_;
/* NULL is ignored. */
void unwind_repeats_free(struct unwind_repeats *repeats);
/*
 * How many frames, from the innermost on, are to be kept of a walk: count, or fewer where its outer
 * end is UNWIND_REPEATS or more times the same return address, of which one remains. A function
 * that calls itself by name is believed at any depth.
 */
uint32_t unwind_repeats_keep(const struct unwind_repeats *repeats, const struct frame *frame,
			     uint32_t count);

#endif
