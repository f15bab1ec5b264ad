/* SPDX-License-Identifier: MIT */
/*
 * island_jumps.h - what in a target's executable memory leads into an island.
 *
 * A jump of ours is five bytes, and leads to the very start of a thunk: nobody else's does. A
 * program may have moved or copied its text since we wrote it, to where no file is, say.
 */
#ifndef MEMATTACH_ISLAND_JUMPS_H
#define MEMATTACH_ISLAND_JUMPS_H

#include "inject/abi/ring_abi.h"
#include "inject/tracee/target.h"

enum { ISLAND_JUMP = 0xe9, ISLAND_JUMP_BYTES = 5,	/* jmp rel32 */
       ISLAND_HOP = 0xeb, ISLAND_HOP_BYTES = 2 };	/* jmp rel8, to such a one in a gap */

struct islands {
	const struct ring_island *island;
	uint32_t count;
};

/* Does the kernel name that mapping as our shim's, mapped as islands are? */
bool island_is_ours(const struct procmap *map);
/* Is it the island that a journal names? */
bool island_confirmed(const struct procmap *map, const struct ring_island *island);
/* Is to the start of a thunk in one of them? */
bool island_starts_at(const struct islands *islands, uint64_t to);
/* Can code in map jump into one of them? */
bool island_in_reach(const struct islands *islands, const struct procmap *map);
/* Where the jumps at bytes (of ISLAND_JUMP_BYTES, of ISLAND_HOP_BYTES), which lie at, lead. */
uint64_t island_jump_to(const uint8_t *bytes, uint64_t at);
uint64_t island_hop_to(const uint8_t *bytes, uint64_t at);
/*
 * Names what can lead there: as long as it is the same no code has come, gone or moved since. Never
 * 0.
 */
uint64_t islands_surroundings(const struct islands *islands, const struct procmaps *maps);
/*
 * The addresses of all jumps into islands, room of them at the most, in whatever the target may
 * execute, mapped from a file or not; pages that are still their file's are passed over. *ret is
 * their number. 0; -errno: not all of it could be read.
 */
int island_jumps_find(const struct target *target, const struct islands *islands, uint64_t *address,
		      size_t room, size_t *ret) _must_check_;
/*
 * Likewise short jumps to one of the count addresses in gap. What file has in its place is not
 * asked for: two bytes may be anything's.
 */
int island_hops_find(const struct target *target, const struct islands *islands,
		     const uint64_t *gap, size_t count, uint64_t *address, size_t room,
		     size_t *ret) _must_check_;

#endif
