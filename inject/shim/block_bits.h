/* SPDX-License-Identifier: MIT */
/* block_bits.h - exact mode: what is known of the block at an address, in the address table. */
#ifndef MEMATTACH_SHIM_BLOCK_BITS_H
#define MEMATTACH_SHIM_BLOCK_BITS_H

#include "inject/shim/shim.h"

/* A block begins to live at address; ends: false if none was known to live there. */
void shim_live_set(struct ring_control *control, uint64_t address);
bool shim_live_clear(struct ring_control *control, uint64_t address);

/*
 * The block that begins to live at address was lost; false: that can't be kept. Ends: true if it
 * surely was.
 */
bool shim_lost_set(struct ring_control *control, uint64_t address);
bool shim_lost_clear(struct ring_control *control, uint64_t address);

#endif
