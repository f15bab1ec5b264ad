/* SPDX-License-Identifier: MIT */
/*
 * groups.h - lost blocks that belong together, as one entry of the report.
 *
 * By allocation site where it was seen; older blocks by C++ type, else by size class, and apart
 * where freed blocks of several shapes still name them (stale.h).
 */
#ifndef MEMATTACH_LEAK_GROUPS_H
#define MEMATTACH_LEAK_GROUPS_H

#include "src/leak/analysis/analysis.h"
#include "src/leak/roots/roots.h"

struct groups_input {
	const struct picture *picture;
	const struct modules *modules;
	struct blocks *blocks;		/* marked */
	const struct roots *roots;
	const struct ranges *excluded;	/* normalized: allocators' own data */
	unsigned int classes;		/* enum root_class: of the roots */
	bool (*known)(void *context, uint64_t address, struct analysis_known *ret);
	void (*each_known)(void *context,
			   void (*each)(void *each_context, const struct analysis_known *block),
			   void *each_context);
	void *context;
	unsigned int heuristics;	/* as marked with */
	uint32_t show_bytes;
};
/*
 * Adds the groups of all definitely and possibly lost blocks to report, which has its sums
 * already. 0 or -ENOMEM, -errno.
 */
int groups_make(const struct groups_input *input, struct leak_report *report) _must_check_;

#endif
