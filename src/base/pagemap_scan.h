/* SPDX-License-Identifier: MIT */
/* pagemap_scan.h - a request of Linux 6.7 that older <linux/fs.h> do not have. */
#ifndef MEMATTACH_PAGEMAP_SCAN_H
#define MEMATTACH_PAGEMAP_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

/* The kernel's struct pm_scan_arg. */
struct pagemap_scan {
	uint64_t size, flags;
	uint64_t start, end;	/* pages are looked at from start on, up to walk_end */
	uint64_t walk_end;
	uint64_t vec, vec_len;	/* struct pagemap_range[] */
	uint64_t max_pages;
	/* Pages count whose categories, some inverted, have all of mask and any of anyof_mask. */
	uint64_t category_inverted, category_mask, category_anyof_mask;
	uint64_t return_mask;
};
_Static_assert(sizeof(struct pagemap_scan) == 96, "the request's number has its size");

#define PAGEMAP_SCAN_REQUEST	_IOWR('f', 16, struct pagemap_scan)
#define PAGEMAP_IS_FILE		(1ull << 2)
#define PAGEMAP_IS_PRESENT	(1ull << 3)
#define PAGEMAP_IS_SWAPPED	(1ull << 4)
#define PAGEMAP_IS_PFNZERO	(1ull << 5)
#define PAGEMAP_IS_HUGE		(1ull << 6)

#endif
