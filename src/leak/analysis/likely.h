/* SPDX-License-Identifier: MIT */
/* likely.h - a guess at the site of lost blocks from before the attach. */
#ifndef MEMATTACH_LEAK_LIKELY_H
#define MEMATTACH_LEAK_LIKELY_H

#include "src/debuginfo/types.h"
#include "src/leak/analysis/groups.h"

/*
 * Sets likely_site of each group of lost blocks that has no site, where exactly one place is seen
 * to allocate blocks of the same usable size and, if it can be told, of the same C++ class: of
 * the blocks that are alive in the session's books. 0 or -ENOMEM.
 */
int likely_find(const struct groups_input *input, struct types *types, struct leak_report *report)
	_must_check_;

#endif
