/* SPDX-License-Identifier: MIT */
/* verdict.h - what being used means for a leak report. */
#ifndef MEMATTACH_ACCESS_VERDICT_H
#define MEMATTACH_ACCESS_VERDICT_H

#include "src/access/access_places.h"
#include "src/access/access_plan.h"

/*
 * Gives every group of report that was watched its leak_access, from the blocks of plan and
 * places[index of the group]. Lost blocks that are used after all become a group of their own,
 * still reachable; what has the same origin is possibly lost. Sums follow, groups are put in
 * order. 0 or -ENOMEM.
 */
int access_verdict_apply(struct leak_report *report, const struct access_plan *plan,
			 struct access_places *places, double seconds) _must_check_;

#endif
