/* SPDX-License-Identifier: MIT */
/*
 * groups.h - lost blocks that belong together, as one entry of the report.
 *
 * By allocation site where it was seen; older blocks by C++ type, else by size.
 */
#ifndef MEMATTACH_LEAK_GROUPS_H
#define MEMATTACH_LEAK_GROUPS_H

#include "src/leak/analysis.h"
#include "src/leak/roots.h"

struct groups_input {
	const struct picture *picture;
	const struct modules *modules;
	struct blocks *blocks;		/* marked */
	const struct roots *roots;
	bool (*known)(void *context, uint64_t address, struct analysis_known *ret);
	void *context;
	unsigned int heuristics;	/* as marked with */
};
/* Adds the groups of all definitely and possibly lost blocks to report. 0 or -ENOMEM, -errno. */
int groups_make(const struct groups_input *input, struct leak_report *report) _must_check_;

#endif
