/* SPDX-License-Identifier: MIT */
/* island_code.h - what a slot of an island holds, ready to be written. */
#ifndef MEMATTACH_ISLAND_CODE_H
#define MEMATTACH_ISLAND_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/abi/ring_abi.h"

/* Addresses are the target's. */
struct island_code {
	enum ring_shape shape;
	uint32_t index;		/* in control.entry, | RING_ISLAND_... */
	uint64_t hook;		/* of that shape */
	uint64_t root;		/* struct shim_root */
	bool keeps;		/* the hook keeps all registers: KEEPING_HOOK */
	bool samples;		/* the mode is RING_MODE_SAMPLE whenever it is not RING_MODE_OFF */
};

/*
 * Fills *ret but for what lies in `original`, which is all int3: the code calls or jumps there for
 * the function itself. The slot can be copied to any address.
 */
void island_code_fill(struct ring_island_entry *ret, const struct island_code *code);

#endif
