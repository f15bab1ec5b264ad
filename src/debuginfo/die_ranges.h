/* SPDX-License-Identifier: MIT */
/* die_ranges.h - addresses of code to what holds them, by the ranges of DWARF entries. */
#ifndef MEMATTACH_DIE_RANGES_H
#define MEMATTACH_DIE_RANGES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct die_range {
	uint64_t low, high;	/* [low, high), addresses of the DWARF */
	size_t index;		/* the caller's */
};
/* Zeroed: empty. */
struct die_ranges {
	struct die_range *range;
	size_t count, room;
};

/* Adds what die covers, if anything; what is beyond 16 million is left out. 0 or -ENOMEM. */
int die_ranges_add(struct die_ranges *ranges, Dwarf_Die *die, size_t index) _must_check_;
/* Before any question. */
void die_ranges_sort(struct die_ranges *ranges);
/* One that holds pc: of overlapping ones, the first of the eight that start last. NULL: none. */
const struct die_range *die_ranges_find(const struct die_ranges *ranges, uint64_t pc);
void die_ranges_done(struct die_ranges *ranges);

#endif
