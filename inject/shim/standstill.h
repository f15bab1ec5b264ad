/* SPDX-License-Identifier: MIT */
/* standstill.h - does the reader wait for a record that nobody goes on with? */
#ifndef MEMATTACH_SHIM_STANDSTILL_H
#define MEMATTACH_SHIM_STANDSTILL_H

#include "inject/shim/place.h"

#define STANDSTILL_UNFINISHED 8u

/* Since when a ring's tail has been where it is, and what was unfinished half-way. */
struct standstill {
	uint64_t tail, since;		/* since: TSC */
	bool looked;
	uint64_t held_up;		/* the reader's drains, when we looked */
	uint32_t count;
	uint64_t record[STANDSTILL_UNFINISHED];		/* ring_unfinished_pack() */
};

/* Of place's ring, from place's time on. */
void standstill_begin(struct standstill *still, const struct place *place);

/*
 * Who waits for room in place's ring asks this time and again, place's time being the present one:
 * true if it waits for nothing. Never before two to four seconds, unless that ring's tail still is
 * where somebody gave up and what that one waited for is still not there.
 */
bool standstill_is_for_ever(const struct ring_control *control, const struct place *place,
			    struct standstill *still);

#endif
