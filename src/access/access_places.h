/* SPDX-License-Identifier: MIT */
/* access_places.h - the instructions that were seen to use the blocks of one group. */
#ifndef MEMATTACH_ACCESS_PLACES_H
#define MEMATTACH_ACCESS_PLACES_H

#include "src/leak/findings/leak_access.h"

/* What the breakpoint that was hit can tell. */
enum access_role {
	ACCESS_ALONE = 0,	/* a read or a write */
	ACCESS_PAIR_ALL,	/* the same; writes hit the other one of the pair as well */
	ACCESS_PAIR_WRITES,
};
struct access_places {
	struct access_place *place;	/* owned */
	size_t count;
	uint64_t hits;			/* also of places beyond those that are kept */
};

/* A hit at frame[0 .. count), innermost first; cut to LEAK_PLACE_FRAMES. 0 or -ENOMEM. */
int access_places_add(struct access_places *places, const struct frame *frame, uint32_t count,
		      enum access_role role, bool frees) _must_check_;
/* Puts them, those with the most hits first, into *ret. */
void access_places_put(struct access_places *places, struct leak_access *ret);
void access_places_done(struct access_places *places);

#endif
