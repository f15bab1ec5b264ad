/* SPDX-License-Identifier: MIT */
/*
 * hook_planner_reach.c - what the planned entries reach: helpers whose calls are nested, and by
 * jumps each other (allocator_reach.c).
 */
#include <stdio.h>
#include <string.h>

#include "inject/attach/ring_publish.h"
#include "src/plan/hook_planner_private.h"
#include "src/plan/own_calls.h"

#define MAX_FORWARDS 4u /* links of a chain of jumps that are followed */

bool planner_is_text(const struct procmaps *maps, uint64_t address, uint64_t bytes)
{
	const struct procmap *map = procmaps_find(maps, address);

	return map && map->inode && map->prot == (PROCMAP_R | PROCMAP_X) &&
	       bytes <= map->end - address;
}

size_t planner_forward_end(const struct planner *planner, size_t index)
{
	for (unsigned int i = 0; i < MAX_FORWARDS && planner->state[index] == SYMBOL_FORWARDS; i++)
		index = planner->forward[index];
	return index;
}

static bool is_heap_entry(const struct hook_entry *entry)
{
	return entry->shape < RING_SHAPE_MMAP;
}

/* True if the symbol at index, or the one that it is but a jump to, is planned. */
static bool is_hooked(const struct planner *planner, size_t index)
{
	uint64_t address = planner->found->symbol[planner_forward_end(planner, index)].address;

	for (uint32_t i = 0; i < planner->plan->entry_count; i++) {
		if (planner->plan->entry[i].address == address)
			return is_heap_entry(&planner->plan->entry[i]);
	}
	return false;
}

struct branch_context {
	const struct planner *planner;
	const struct allocator_module *module;
};

/* For allocators_reach(). */
static enum allocator_target branch_target(void *context, uint64_t address, uint64_t *ret_address)
{
	const struct branch_context *from = context;
	int index = allocators_symbol_reached(from->planner->found, from->module, &address);
	const struct allocator_name *name;

	*ret_address = address;
	if (index < 0)
		return address ? ALLOCATOR_CODE : ALLOCATOR_NOWHERE;
	if (is_hooked(from->planner, (size_t)index))
		return ALLOCATOR_HOOKED;
	name = from->planner->found->symbol[index].name;
	/* An `operator new` that is not hooked: what it asks malloc for is the program's. */
	if (name->throws || name->group == ALLOCATOR_MAPPING || name->group == ALLOCATOR_LOADER ||
	    name->group == ALLOCATOR_CUSTOM || name->group == ALLOCATOR_CONFINING)
		return ALLOCATOR_NOWHERE;
	return ALLOCATOR_CODE;
}

/*
 * True for libraries with an allocator. From the entries of libc and of the
 * executable the rest of the program is reached as well: no helpers there.
 */
static bool may_have_helpers(const struct planner *planner, const struct hook_entry *entry,
			     const struct allocator_module *module)
{
	const char *family = planner->plan->family[entry->family].name;

	return !module->is_exe && strcmp(family, "glibc") != 0 && strcmp(family, "musl") != 0;
}

/* Adds what the keeper will accept, as much as the shim has room for besides the entries. */
static void add_helpers(struct planner *planner, const struct ring_range *range, uint32_t count)
{
	struct hook_plan *plan = planner->plan;

	for (uint32_t i = 0; i < count; i++) {
		if (!planner_is_text(planner->input->maps, range[i].low,
				     range[i].high - range[i].low))
			continue;
		if (plan->helper_count < RING_MAX_ENTRIES - plan->entry_count)
			plan->helper[plan->helper_count++] = range[i];
		else
			plan->left_out++;
	}
}

/* Leaves out what holds an entry: its calls are nested without that. */
static uint32_t drop_entries(const struct hook_plan *plan, struct ring_range *range, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool entry = false;

		for (uint32_t e = 0; e < plan->entry_count && !entry; e++)
			entry = plan->entry[e].address >= range[i].low &&
				plan->entry[e].address < range[i].high;
		if (!entry)
			range[kept++] = range[i];
	}
	return kept;
}

/* glibc's end of a thread frees what was freed already: nested, like a helper's calls. */
static void add_own_calls(struct planner *planner, const struct allocator_module *module,
			  const struct hook_entry *entry)
{
	struct hook_plan *plan = planner->plan;
	struct ring_range range[OWN_CALLS_MAX];
	uint32_t count = 0;

	if (entry->shape != RING_SHAPE_FREE ||
	    strcmp(plan->family[entry->family].name, "glibc") != 0)
		return;
	if (own_calls_find(module, entry->address, range, &count) == 0)
		add_helpers(planner, range, drop_entries(plan, range, count));
	else if (plan->skipped_count >= HOOK_MAX_SKIPPED)
		plan->left_out++;
	else {
		plan->skipped_family[plan->skipped_count] = (uint8_t)entry->family;
		(void)snprintf(plan->skipped[plan->skipped_count++], HOOK_SKIPPED_BYTES,
			       "the end of a thread (glibc): its own frees can't be told apart");
	}
}

/* Code that the entries of one module reach: helpers, and by jumps each other. */
static int plan_reach(struct planner *planner, const struct allocator_module *module)
{
	struct hook_plan *plan = planner->plan;
	struct branch_context from = { planner, module };
	struct allocator_reach reach = { .image = &module->image,
					 .target = branch_target,
					 .context = &from };
	uint32_t index[RING_MAX_ENTRIES];
	int r;

	for (uint32_t i = 0; i < plan->entry_count; i++) {
		const struct hook_entry *entry = &plan->entry[i];

		if (!is_heap_entry(entry) || entry->address < module->image.low ||
		    entry->address >= module->image.high)
			continue;
		reach.find_helpers = may_have_helpers(planner, entry, module);
		add_own_calls(planner, module, entry);
		index[reach.entry_count] = i;
		reach.entry[reach.entry_count++] = entry->address;
	}
	r = reach.entry_count ? allocators_reach(&reach) : 0;
	for (uint32_t i = 0; r == 0 && i < reach.entry_count; i++)
		plan->entry[index[i]].jumps_on = reach.jumps_on[i];
	add_helpers(planner, reach.helper, reach.helper_count);
	plan->left_out += reach.cut;
	return r;
}

int planner_reach(struct planner *planner)
{
	struct hook_plan *plan = planner->plan;
	int r = 0;

	for (size_t i = 0; i < planner->found->module_count && r == 0; i++)
		r = plan_reach(planner, &planner->found->module[i]);
	plan->helper_count = ring_ranges_merge(plan->helper, plan->helper_count);
	return r;
}
