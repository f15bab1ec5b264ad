/* SPDX-License-Identifier: MIT */
/*
 * names.h - names from the files of a target, read in a child that they may kill (apart.h).
 */
#ifndef MEMATTACH_SESSION_NAMES_H
#define MEMATTACH_SESSION_NAMES_H

#include "src/leak/variable/assigned.h"
#include "src/modules/modules.h"
#include "src/base/file_reader.h"
#include "src/symbolize/symbolize.h"

struct session_names;
/* From now on symbolizer asks the child. Both are borrowed. 0 or -ENOMEM. */
int session_names_new(struct modules *modules, struct symbolizer *symbolizer,
		      struct session_names **ret) _must_check_;
/*
 * The child gives up its privileges (sandbox.h) before it opens anything: for those who keep
 * theirs. It opens what reader may read, too. pre: nothing was asked yet.
 */
void session_names_confine(struct session_names *names, const struct file_reader *reader);
/*
 * Names that are not known by that time (CLOCK_MONOTONIC seconds; 0: as long as it takes) are left
 * out, to be asked for again: for reports between which the rings have to be emptied.
 */
void session_names_until(struct session_names *names, double time);
/*
 * From time to time, in sessions of days: a child that was asked nothing since the last call ends,
 * with the files that it holds; the next question makes another.
 */
void session_names_rest(struct session_names *names);
/* symbolizer answers from what it has already. NULL is ignored. */
void session_names_free(struct session_names *names);
/* assigned_find in the child; what can't be found out is ASSIGNED_UNKNOWN. 0 or -ENOMEM. */
int session_names_assigned(struct session_names *names, const struct frame *frame, uint32_t count,
			   struct assigned *ret) _must_check_;

#endif
