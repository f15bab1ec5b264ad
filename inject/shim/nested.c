/* SPDX-License-Identifier: MIT */
/*
 * nested.c - is a call one that the allocator makes to itself?
 *
 * calloc that calls malloc, sbrk that calls brk: the program asked once, so one
 * event counts. The return address tells: it lies in the code of a hooked
 * function of the same class, or of a function that hooked ones call in their
 * own library (hook_plan.helper), or in a hook of ours of that class (the
 * original was reached by a tail jump). A mapping made from inside malloc is not nested:
 * it is an event of its own, booked by its stack.
 *
 * An allocator that hands its calls on to another one, from wherever, is outer.c's.
 *
 * Rejected: a per-thread depth counter. It would be state that spans the
 * original, wrong for ever after the first longjmp.
 */
#include "inject/shim/nested.h"

/* From here on: hooks of the mapping class, and of the custom one. */
extern const uint8_t shim_mapping_hooks[] __attribute__((visibility("hidden")));
extern const uint8_t shim_custom_hooks[] __attribute__((visibility("hidden")));

static enum ring_class class_of_hook(uint64_t caller)
{
	if (caller >= (uint64_t)shim_custom_hooks)
		return RING_CLASS_CUSTOM;
	return caller >= (uint64_t)shim_mapping_hooks ? RING_CLASS_MAPPING : RING_CLASS_HEAP;
}

/*
 * pre: address is not below the first. ranges are sorted and disjoint, and do not change while
 * armed (ring_publish_callers()).
 */
static bool in_ranges(const struct ring_range *range, uint32_t count, uint64_t address)
{
	uint32_t low = 0, high = count;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (range[middle].low <= address)
			low = middle;
		else
			high = middle;
	}
	return address < range[low].high;
}

bool shim_is_nested_there(const struct ring_control *control, uint64_t caller,
			  enum ring_class class)
{
	uint32_t count = control->caller_count[class];

	if (caller >= shim_root_page.shim_low && caller < shim_root_page.shim_high)
		return class_of_hook(caller) == class;
	return count <= RING_MAX_ENTRIES &&
	       in_ranges(control->caller[class], count, caller);
}
