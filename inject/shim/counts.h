/* SPDX-License-Identifier: MIT */
/* counts.h - RING_MODE_COUNT: calls are counted, nothing is recorded (docs/COUNTS.md). */
#ifndef MEMATTACH_SHIM_COUNTS_H
#define MEMATTACH_SHIM_COUNTS_H

#include "inject/abi/counts_abi.h"
#include "inject/shim/shim.h"

/* A block of size asked-for bytes begins to live at address. After the call that made it. */
void shim_count_alloc(struct ring_control *control, const struct shim_call *call, uint64_t size,
		      uint64_t address);
/* The block at address is about to be given back. */
void shim_count_free(struct ring_control *control, const struct shim_call *call,
		     uint64_t address);

/*
 * What shim_count_freed needs to know of a block that a realloc may give back, while the block
 * is still there; and, once it is gone, that it is.
 */
uint64_t shim_count_usable(const struct ring_control *control, const struct shim_call *call,
			   uint64_t address);
void shim_count_freed(struct ring_control *control, const struct shim_call *call,
		      uint64_t usable);
#define SHIM_COUNT_UNSIZED UINT64_MAX	/* its usable size is not known */

#endif
