/* SPDX-License-Identifier: MIT */
/*
 * changes.h - what was written to since the picture of a leak report, page by page.
 *
 * The picture's copy shares its pages with the target until one of the two writes, which is the
 * target, as the copy never runs. Which pages are shared no longer is told by its pagemap, and
 * costs the target nothing that the picture did not; what changed there, by a look at both.
 */
#ifndef MEMATTACH_ACCESS_CHANGES_H
#define MEMATTACH_ACCESS_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct access_changes {
	int before, now;	/* borrowed: memory of the picture (-1: none), of the target */
	int pagemap;		/* borrowed: of the picture; -1: all pages are compared */
	int pagemap_now;	/* borrowed: of the target; -1: it may get page tables by it */
	uint64_t budget;	/* bytes that may still be compared */
};

#define ACCESS_COMPARED	(256ull << 20)	/* a budget: a fifth of a second */

/* True: bytes of [address, address + bytes) differ. False: they do not, or nobody can tell. */
bool access_changes_in(struct access_changes *changes, uint64_t address, uint64_t bytes);

#endif
