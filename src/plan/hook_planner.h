/* SPDX-License-Identifier: MIT */
/*
 * hook_planner.h - from a target's memory and maps to a plan of entry patches.
 *
 * Runs in the analyst. Touches nothing: the target is only read, and the keeper
 * compares whatever the plan says with the live target before it applies it.
 */
#ifndef MEMATTACH_HOOK_PLANNER_H
#define MEMATTACH_HOOK_PLANNER_H

#include <stdio.h>

#include "inject/attach/hook_plan.h"
#include "src/plan/allocators.h"

struct hook_planner_input {
	const struct procmaps *maps;
	const struct elf_reader *reader;	/* of the target's memory */
	const void *auxv;			/* /proc/PID/auxv; NULL if exe_base is set */
	size_t auxv_bytes;
	uint64_t exe_base;			/* the executable's ELF header; 0: by auxv */
	uint32_t track;				/* enum allocator_track */
	const struct custom_functions *custom;	/* may be NULL */
	bool map_only;				/* map loader: leave alone what throws */
	uint64_t clearance;	/* for the plan, HOOK_MAX_CLEARANCE at the most */
	allocator_file_fn *file;		/* for the executable's .symtab; may be NULL */
	void *file_context;
};

/*
 * Plans. A plan without entries is a success: no allocator was found, or none can
 * be hooked; skipped says why. Nothing in ret refers to the input afterwards.
 * 0, -EAGAIN the target's list of modules kept changing, -ENOENT no executable
 * found, -EBADMSG broken link map, -E2BIG, -ENOMEM, -errno of the reader.
 */
int hook_planner_run(const struct hook_planner_input *input, struct hook_plan *ret) _must_check_;

/*
 * Prints the plan for `memattach check`: a line for each family, then its entries
 * with their kind of patch, then what was left out and why. Control characters
 * in the target's strings are shown as '?'.
 */
void hook_plan_print(const struct hook_plan *plan, FILE *out);

/* "gap", "direct", "stopped" or "none". */
const char *hook_patch_name(enum hook_patch_kind kind);

#endif
