/* SPDX-License-Identifier: MIT */
/*
 * counts_setup.c - see counts_setup.h and counts_abi.h.
 *
 * Blocks are for as many threads as make sense: of what they take in the target only that is
 * memory which is used. Threads beyond that share counters.
 */
#include "inject/attach/counts_setup.h"

#include "src/base/procmaps.h"

#define FEW_SLOTS 32u
#define PAGE 4096ull

static const uint32_t slots_of[COUNTS_KINDS] = {
	[COUNTS_TOTALS] = 2048, [COUNTS_HISTOGRAM] = 512, [COUNTS_SITES] = 256,
};

uint64_t counts_setup_bytes(uint32_t kind, uint64_t slots)
{
	return sizeof(struct counts_head) +
	       slots * (sizeof(uint64_t) + counts_block_bytes(kind)) + counts_shared_bytes(kind);
}

void counts_setup_geometry(struct ring_geometry *g, uint32_t kind, bool few)
{
	g->counts_kind = kind;
	g->counts_slots = few ? FEW_SLOTS : slots_of[kind];
	g->total_bytes += counts_setup_bytes(kind, g->counts_slots) + PAGE - 1;
	g->total_bytes &= ~(PAGE - 1);
}

/* Is the function code of the mapping that an entry of this family lies in? */
static bool is_beside_entry(const struct hook_plan *plan, uint32_t family, uint64_t function,
			    const struct procmaps *maps)
{
	const struct procmap *code = procmaps_find(maps, function);

	if (!code || !(code->prot & PROCMAP_X) || (code->prot & PROCMAP_W) || code->inode == 0)
		return false;
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->entry[i].family == family && plan->entry[i].address >= code->start &&
		    plan->entry[i].address < code->end)
			return true;
	return false;
}

int counts_setup_head(struct ring_control *control, uint32_t kind, const struct hook_plan *plan,
		      int maps_fd)
{
	struct counts_head *head = (void *)((uint8_t *)control + control->counts_offset);
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(maps_fd, &maps);

	if (error)
		return error;
	head->kind = kind;
	for (uint32_t i = 0; i < plan->family_count && i < COUNTS_FAMILIES; i++) {
		struct counts_usable usable = plan->family[i].usable;

		if (usable.kind == COUNTS_USABLE_CALL &&
		    !is_beside_entry(plan, i, usable.function, &maps))
			usable.kind = COUNTS_USABLE_NONE;
		head->usable[i] = usable;
	}
	return 0;
}

_Static_assert(HOOK_MAX_FAMILIES <= COUNTS_FAMILIES, "each family has its place");
