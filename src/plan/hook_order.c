/* SPDX-License-Identifier: MIT */
/* hook_order.c - see hook_order.h. */
#include "src/plan/hook_order.h"

/* Rank in the order of applying: a block must not be seen to live because its free was missed. */
static unsigned int apply_rank(const struct hook_entry *entry)
{
	switch (entry->shape) {
	case RING_SHAPE_DL_STATE:
	case RING_SHAPE_PRCTL:
	case RING_SHAPE_SYSCALL:
		return 0;
	case RING_SHAPE_FREE:
	case RING_SHAPE_MUNMAP:
	case RING_SHAPE_CUSTOM_FREE:
		return 1;
	case RING_SHAPE_REALLOC:
	case RING_SHAPE_REALLOCARRAY:
	case RING_SHAPE_MREMAP:
	case RING_SHAPE_CUSTOM_REALLOC:
		return 2;
	default:
		return 3;
	}
}

/* Stable, and small enough for the simplest way. */
void hook_plan_sort(struct hook_plan *plan)
{
	for (uint32_t i = 1; i < plan->entry_count; i++) {
		struct hook_entry moving = plan->entry[i];
		uint32_t at = i;

		for (; at > 0 && apply_rank(&plan->entry[at - 1]) > apply_rank(&moving); at--)
			plan->entry[at] = plan->entry[at - 1];
		plan->entry[at] = moving;
	}
}
