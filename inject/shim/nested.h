/* SPDX-License-Identifier: MIT */
/* nested.h - calls that the allocator makes to itself (nested.c). */
#ifndef MEMATTACH_SHIM_NESTED_H
#define MEMATTACH_SHIM_NESTED_H

#include "inject/shim/shim.h"

/* The same for a caller in one of the shim's or of the class's functions, or between those. */
bool shim_is_nested_there(const struct ring_control *control, uint64_t caller,
			  enum ring_class class);

/* True if call comes from the code of its own class of functions: not to be recorded. */
static inline bool shim_is_nested(const struct ring_control *control, const struct shim_call *call,
				  enum ring_class class)
{
	const struct ring_range *all = &control->callers[class];
	uint64_t caller = call->caller;

	if ((caller < all->low || caller >= all->high) &&
	    (caller < shim_root_page.shim_low || caller >= shim_root_page.shim_high))
		return false;
	return shim_is_nested_there(control, caller, class);
}

#endif
