/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_torn.h - temporary blocks that lived at a moment of the recording: allocated last
 * before it, freed first after it.
 *
 * Which they were is not recorded, but follows from how each site stood: where fewer blocks came
 * and went between moments than were temporary, the rest lived at one. At a moment heaptrack's
 * format has room for one, which is all that one thread can have.
 */
#ifndef MEMATTACH_EXPORT_HEAPTRACK_TORN_H
#define MEMATTACH_EXPORT_HEAPTRACK_TORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct blocks {
	uint64_t count, bytes;
};
/* Of one site between two moments. */
struct torn_row {
	uint32_t interval;	/* counts those in which anything of any site changes */
	uint32_t site;		/* the index of its struct torn_site */
	struct blocks alloc, free;
	bool out;		/* its last block lives at the end of this interval, */
	uint64_t out_bytes;	/* is so large, and is freed first in the next */
};
struct torn_site {
	uint32_t site;
	uint64_t temporary;	/* in all */
	uint64_t missing;	/* so many can't have come and gone between moments */
	size_t row_count;
	struct torn_row *row;	/* ascending by interval */
};

/*
 * Of the blocks that came and went, the largest number up to most that may have been temporary, and
 * their bytes: what is left of bytes has a block left.
 */
struct blocks torn_pairs(const struct blocks *alloc, const struct blocks *freed, uint64_t most);
/*
 * Sets out and out_bytes of the rows: never two sites' at the end of one interval. intervals: their
 * number. 0 or -ENOMEM.
 */
int torn_find(struct torn_site *site, size_t count, uint32_t intervals) _must_check_;

#endif
