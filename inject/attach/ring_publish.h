/* SPDX-License-Identifier: MIT */
/* ring_publish.h - what memattach writes for the shim to look things up in. */
#ifndef MEMATTACH_RING_PUBLISH_H
#define MEMATTACH_RING_PUBLISH_H

#include "inject/abi/ring_abi.h"
#include "src/base/cleanup.h"

/*
 * Fills control.caller from control.entry[0..entry_count): without it no call is
 * recognised as nested. pre: entries filled in, nothing armed yet.
 */
void ring_publish_callers(struct ring_control *control);
/*
 * Adds code whose calls to the malloc family are nested as well although it is no
 * entry. pre: ring_publish_callers, nothing armed yet. 0, -E2BIG (nothing added).
 */
int ring_publish_helpers(struct ring_control *control, const struct ring_range *range,
			 uint32_t count) _must_check_;
/* Sorts ranges and makes them disjoint; returns how many remain. */
uint32_t ring_ranges_merge(struct ring_range *range, uint32_t count);

/*
 * Publishing stack ranges, in this order:
 *	if (ring_publish_stacks_begin(control, &ticket) == 0) {
 *		read the maps, and what the threads' control blocks say;
 *		ring_publish_stacks(control, &stacks, ticket);
 *	}
 * begin: 0, or -EAGAIN a call that takes mappings away is under way just now.
 * The other: ranges ascend by their ends, count <= RING_MAX_STACKS (-E2BIG).
 * 0; or -EAGAIN if such a call began since the ticket was taken: then no range
 * is published at all (stacks are copied through the kernel until the next try).
 * One publisher at a time.
 */
struct ring_stacks {
	const struct ring_range *range;
	uint32_t count;
	uint32_t word;		/* offset in a control block of where the stack begins */
};
int ring_publish_stacks_begin(const struct ring_control *control, uint64_t *ret_ticket)
	_must_check_;
int ring_publish_stacks(struct ring_control *control, const struct ring_stacks *stacks,
			uint64_t ticket) _must_check_;

#endif
