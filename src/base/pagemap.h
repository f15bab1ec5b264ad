/* SPDX-License-Identifier: MIT */
/*
 * pagemap.h - which pages of a process hold anything: /proc/PID/pagemap.
 *
 * Populated is what is in memory or swapped out. What else anonymous memory has reads as zeros, and
 * nobody need look; in mappings of files it holds the file's bytes.
 */
#ifndef MEMATTACH_PAGEMAP_H
#define MEMATTACH_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

enum pagemap_way {
	PAGEMAP_UNKNOWN,	/* the kernel does not tell, or not us */
	PAGEMAP_BY_ENTRY,	/* a number a page is read: 1 s a TiB, populated or not */
	PAGEMAP_BY_RANGE,	/* the PAGEMAP_SCAN request (Linux 6.7): the empty costs nothing */
};
struct pagemap {
	int fd;			/* borrowed */
	enum pagemap_way way;
	/* By range: pages that were only ever read do not count, where the kernel can tell them. */
	uint64_t left_out;
};
/* The kernel's struct page_region. */
struct pagemap_range {
	uint64_t low, high, categories;	/* pagemap_next_kinds: enum pagemap_kind; else 0 */
};
/* Values are the kernel's. */
enum pagemap_kind {
	PAGEMAP_OF_FILE = 4,	/* not the process's own: a file's, or shared memory's */
	PAGEMAP_PRESENT = 8,
	PAGEMAP_SWAPPED = 16,
	PAGEMAP_HUGE = 64,	/* only by range */
};

/* Asks the kernel what it offers for fd (an open pagemap; -1, or any other file: UNKNOWN). */
void pagemap_init(struct pagemap *pagemap, int fd);
/*
 * The populated stretches from *at on, ascending, in ret; *at moves to where it has looked up to,
 * end at the most, but always on. A call is brief (some ms). pre: *at < end, both page-aligned,
 * room > 0, way is not UNKNOWN. How many; -errno. Of a process that has ended nothing is populated,
 * by entry it is -ESRCH: who asks must know by other means whether it lived.
 */
int pagemap_next(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		 struct pagemap_range *ret, size_t room) _must_check_;
/*
 * The next stretch of [*at, end) that may hold anything but zeros; *at moves to its end. To read
 * the rest may give a process pages that it never had. All of it, where way is UNKNOWN or the
 * kernel fails to tell. false: there is none any more. *at and end are any addresses.
 */
bool pagemap_stretch(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		     struct pagemap_range *ret) _must_check_;
/* The same, a stretch for each change of kind; its categories say what it is. */
int pagemap_next_kinds(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		       struct pagemap_range *ret, size_t room) _must_check_;

#endif
