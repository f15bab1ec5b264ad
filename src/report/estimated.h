/* SPDX-License-Identifier: MIT */
/* estimated.h - whether figures of a snapshot that have no interval of their own are estimates. */
#ifndef MEMATTACH_VIEW_ESTIMATED_H
#define MEMATTACH_VIEW_ESTIMATED_H

#include "src/live/snapshot.h"

/* Blocks were drawn, or may have been missed: no figure of blocks is certain. */
static inline bool view_is_estimate(const struct snapshot *snapshot)
{
	const struct snapshot_bounds *allocated = &snapshot->totals.in.alloc_bytes;

	if (snapshot->session.mode == SNAPSHOT_COUNTS)
		return false;
	return !snapshot->every_alloc ||
	       (snapshot->intervals && allocated->low < allocated->high);
}
/* Before such a figure: "~", or "". */
static inline const char *view_mark(const struct snapshot *snapshot)
{
	return view_is_estimate(snapshot) ? "~" : "";
}

#endif
