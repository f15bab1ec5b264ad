/* SPDX-License-Identifier: MIT */
/* block_bits.h - exact mode: what is known of the block at an address, in the address table. */
#ifndef MEMATTACH_SHIM_BLOCK_BITS_H
#define MEMATTACH_SHIM_BLOCK_BITS_H

#include "inject/shim/shim.h"

/* Where it is known whether a block lives at address; NULL: nowhere. *ret_bit: in that word. */
static inline uint64_t *shim_live_word(struct ring_control *control, uint64_t address,
				       uint64_t *ret_bit)
{
	uint64_t *table = (uint64_t *)((uint8_t *)control + control->table_offset);
	uint64_t granule = address >> 4;	/* malloc's alignment: no two blocks share one */

	*ret_bit = 1ull << (granule & 63);
	if (control->table_slots < 2)
		return NULL;
	return &table[(granule >> 6) & (control->table_slots / 2 - 1)];
}
/* A block begins to live at address; ends: false if none was known to live there. */
void shim_live_set(struct ring_control *control, uint64_t address);
static inline bool shim_live_clear(struct ring_control *control, uint64_t address)
{
	uint64_t bit, old, *word = shim_live_word(control, address, &bit);

	if (!word)
		return true;
	old = shim_load(word);
	if (old & bit)
		shim_store(word, old & ~bit);
	return (old & bit) && address % 16 == 0;
}

/* Are allocations lost at once, as the reader can't keep up? */
static inline bool shim_is_pressed(const struct ring_control *control)
{
	return (shim_load(&control->pressed) & RING_PRESSED) &&
	       shim_load(&control->lapsed) < shim_load(&control->epoch);
}
/*
 * The block that begins to live at address was lost; false: that can't be kept. Is the one that
 * lived there last one of those? One that is recorded begins to live there.
 */
bool shim_lost_set(struct ring_control *control, uint64_t address);
bool shim_lost_is_set(struct ring_control *control, uint64_t address);
void shim_lost_clear(struct ring_control *control, uint64_t address);

#endif
