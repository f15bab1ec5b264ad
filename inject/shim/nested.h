/* SPDX-License-Identifier: MIT */
/* nested.h - calls that the allocator makes to itself (nested.c). */
#ifndef MEMATTACH_SHIM_NESTED_H
#define MEMATTACH_SHIM_NESTED_H

#include "inject/shim/shim.h"

/* Bits of shim_call.span: RING_ISLAND_SPAN, RING_ISLAND_OUTER. */
enum shim_span { SHIM_SPAN = 1u << 0, SHIM_SPAN_OUTER = 1u << 1 };

/* The same for a caller in one of the shim's or of the class's functions, or between those. */
bool shim_is_nested_there(const struct ring_control *control, uint64_t caller,
			  enum ring_class class);

/*
 * Remembers call as the outermost of its thread, if there is none under way (SHIM_OUTER is set
 * then). pre: its frame stays around the original. Forgotten by shim_outer_end().
 */
void shim_outer_begin(struct ring_control *control, struct shim_call *call, enum ring_class class);
/* call has returned. */
void shim_outer_end(struct ring_control *control, const struct shim_call *call,
		    enum ring_class class);
/* True if call is made while an outer one of its thread is under way. */
bool shim_outer_holds(struct ring_control *control, const struct shim_call *call,
		      enum ring_class class);

/* True if call comes from the code of its own class of functions: not to be recorded. */
static inline bool shim_is_nested(struct ring_control *control, const struct shim_call *call,
				  enum ring_class class)
{
	const struct ring_range *all = &control->callers[class];
	uint64_t caller = call->caller;

	if ((caller >= all->low && caller < all->high) ||
	    (caller >= shim_root_page.shim_low && caller < shim_root_page.shim_high)) {
		if (shim_is_nested_there(control, caller, class))
			return true;
	}
	return __builtin_expect(shim_load(&control->outers) & 1u << class, 0) &&
	       shim_outer_holds(control, call, class);
}

#endif
