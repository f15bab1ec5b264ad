/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - putting the planned jumps into the target's code, and taking them out.
 *
 * The plan comes from the analyst, which may have been fooled: nothing is
 * applied before every byte and range of it was compared with the live target.
 */
#ifndef MEMATTACH_HOOKS_H
#define MEMATTACH_HOOKS_H

#include "inject/attach/attachment.h"

/*
 * Compares plan with the live target: entries and gaps in private r-x file
 * mappings, bytes as expected, gaps filler, jumps in reach, islands as loaded.
 * 0, -ESTALE (with the entry's name in ret_name, at least HOOK_NAME_BYTES), -EINVAL.
 */
int hooks_check(const struct attachment *a, const struct hook_plan *plan, char *ret_name)
	_must_check_;
/* Writes the islands' code. pre: hooks_check, shim loaded. */
int hooks_write_islands(struct attachment *a) _must_check_;
/* Writes the jumps into the gaps, which nothing leads to yet. 0 or -errno (some may be written). */
int hooks_apply_gaps(struct attachment *a) _must_check_;
/*
 * Patches the entries, releasing calls before allocating ones. 0, -ETIME
 * (threads could not be stopped clear of an entry), -errno; some may be patched.
 */
int hooks_apply_entries(struct attachment *a) _must_check_;
/*
 * Writes the original entry words back, allocating calls first. Words that are
 * neither what we wrote nor the original are left alone: -EEXIST then (someone
 * patched on top), after all others were reverted.
 */
int hooks_revert_entries(struct attachment *a);
/* The same for the gaps: only once no thread can be in them any more. */
int hooks_revert_gaps(struct attachment *a);

#endif
