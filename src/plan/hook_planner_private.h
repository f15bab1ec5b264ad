/* SPDX-License-Identifier: MIT */
/* hook_planner_private.h - what the planner's files share. */
#ifndef MEMATTACH_HOOK_PLANNER_PRIVATE_H
#define MEMATTACH_HOOK_PLANNER_PRIVATE_H

#include "src/plan/allocators.h"
#include "src/plan/entry_gap.h"
#include "src/plan/hook_planner.h"

enum symbol_state { SYMBOL_OPEN = 0, SYMBOL_PLANNED, SYMBOL_SKIPPED, SYMBOL_FORWARDS };

struct planner {
	const struct hook_planner_input *input;
	struct allocators_input search;
	struct allocators *found;
	struct link_map_list list;
	struct entry_gaps gaps;
	uint8_t state[ALLOCATORS_MAX_SYMBOLS];    /* enum symbol_state, by symbol */
	uint16_t forward[ALLOCATORS_MAX_SYMBOLS]; /* of SYMBOL_FORWARDS: to which symbol */
	bool torn[HOOK_MAX_FAMILIES];             /* a function that matters can't be hooked */
	struct hook_plan *plan;
};

/* True for text that the kernel maps privately from a file, and nobody may write to. */
bool planner_is_text(const struct procmaps *maps, uint64_t address, uint64_t bytes);
/* Index of the symbol at the end of the chain of jumps from the symbol at index. */
size_t planner_forward_end(const struct planner *planner, size_t index);
/*
 * Fills the plan's helpers, and which entries end in jumps to others, once its entries are settled.
 * 0, -ENOMEM.
 */
int planner_reach(struct planner *planner) _must_check_;

#endif
