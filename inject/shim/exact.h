/* SPDX-License-Identifier: MIT */
/* exact.h - RING_MODE_ALL: an allocation and a free by the shortest way to a record (exact.c). */
#ifndef MEMATTACH_SHIM_EXACT_H
#define MEMATTACH_SHIM_EXACT_H

#include "inject/shim/shim.h"

/* What a function gave. */
struct shim_made {
	uint64_t address, size;
	uint32_t align_log2;
};
/* As shim_record(), of a RING_ALLOC. */
bool shim_exact_alloc(struct ring_control *control, const struct shim_call *call,
		      const struct shim_made *made);
/* As shim_record(), of a RING_FREE, with its stack where that is asked for. */
bool shim_exact_free(struct ring_control *control, const struct shim_call *call,
		     uint64_t address, bool with_stack);

/*
 * Writes zeros below the stack pointer, as far as what was called may have written. For what a
 * short way calls and does not wipe itself: no block's address stays in dead stack.
 */
void shim_wipe(void);

#endif
