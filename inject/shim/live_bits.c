/* SPDX-License-Identifier: MIT */
/*
 * live_bits.c - exact mode: is this free likely to be a wrong one?
 *
 * A wrong free is worth its whole stack, any other free only its return address:
 * copying every stack would double the cost of exact mode. So the address table,
 * which exact mode has no other use for, holds in its first half one bit for each 16 bytes of
 * memory, folded: set while a block that was recorded lives there. A free that
 * finds its bit clear is suspect: freed before, never a block, or older than the
 * attach. Only memattach decides which (src/live/live.c); a bit that two addresses share
 * or that a race loses costs a copy for nothing, or a copy that is missed.
 *
 * Neighbours in memory are neighbours in the table: a line of it stands for 8 KiB of
 * heap. Rejected: hashing (a cache miss an event), a table of addresses (512 times as
 * large), locked instructions (what they would save is harmless).
 */
#include "inject/shim/block_bits.h"

void shim_live_set(struct ring_control *control, uint64_t address)
{
	uint64_t bit, *word = shim_live_word(control, address, &bit);

	if (word)
		shim_store(word, shim_load(word) | bit);
}
