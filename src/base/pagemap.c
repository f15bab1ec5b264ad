/* SPDX-License-Identifier: MIT */
/*
 * pagemap.c - see pagemap.h.
 *
 * Which of the two ways works is tried out, never concluded from a version: filters of system
 * calls and kernels' imitations refuse one or both. An entry's page number is hidden from most
 * readers (Linux 4.2), its two highest bits are not. Populated by entry is also a page that was
 * only read and shares the kernel's zeros: more is looked at than need be, nothing is missed.
 * Rejected: mincore (own memory only), smaps (sums, not places), SEEK_DATA (not on mem).
 */
#include "src/base/pagemap.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/pagemap_scan.h"

#define PAGE		4096ull
#define ENTRIES		4096u		/* read at once */
#define POPULATED	(3ull << 62)	/* of an entry: swapped, present */
#define ENTRY_PRESENT	(1ull << 63)
#define ENTRY_FILE	(1ull << 61)	/* a file's page, or shared memory's */
#define MOST_SPAN	(64ull << 30)	/* asked for at once, and of that populated pages */
#define MOST_PAGES	(256ull << 10)

_Static_assert(PAGEMAP_OF_FILE == PAGEMAP_IS_FILE && PAGEMAP_PRESENT == PAGEMAP_IS_PRESENT &&
		       PAGEMAP_SWAPPED == PAGEMAP_IS_SWAPPED && PAGEMAP_HUGE == PAGEMAP_IS_HUGE,
	       "they are handed on as they are");
#define ALL_KINDS (PAGEMAP_OF_FILE | PAGEMAP_PRESENT | PAGEMAP_SWAPPED | PAGEMAP_HUGE)

/* What is asked for: stretches up to end, with these kinds told. */
struct wish {
	uint64_t end, kinds;
	struct pagemap_range *ret;
	size_t room;
};

static int scan(const struct pagemap *pagemap, uint64_t *at, const struct wish *wish)
{
	struct pagemap_scan request = {
		.size = sizeof(request), .start = *at, .end = wish->end,
		.vec = (uintptr_t)wish->ret, .vec_len = wish->room, .max_pages = MOST_PAGES,
		.category_inverted = pagemap->left_out, .return_mask = wish->kinds,
		.category_mask = pagemap->left_out,
		.category_anyof_mask = PAGEMAP_IS_PRESENT | PAGEMAP_IS_SWAPPED,
	};
	int count;

	if (wish->end - *at > MOST_SPAN)
		request.end = *at + MOST_SPAN;
	count = ioctl(pagemap->fd, PAGEMAP_SCAN_REQUEST, &request);
	if (count < 0)
		return -errno;
	if (request.walk_end <= *at || request.walk_end > request.end || (size_t)count > wish->room)
		return -EPROTO;
	*at = request.walk_end;
	return count;
}

static uint64_t kinds_of(uint64_t entry)
{
	return (entry & ENTRY_PRESENT ? PAGEMAP_PRESENT : PAGEMAP_SWAPPED) |
	       (entry & ENTRY_FILE ? PAGEMAP_OF_FILE : 0);
}

/* Joins alike pages that follow each other; false: there is no room for another. */
static bool append(const struct wish *wish, int *count, uint64_t page, uint64_t kinds)
{
	struct pagemap_range *last = *count ? &wish->ret[*count - 1] : NULL;

	if (last && last->high == page && last->categories == kinds) {
		last->high += PAGE;
		return true;
	}
	if ((size_t)*count == wish->room)
		return false;
	wish->ret[(*count)++] = (struct pagemap_range){ page, page + PAGE, kinds };
	return true;
}

static int read_entries(const struct pagemap *pagemap, uint64_t *at, const struct wish *wish)
{
	uint64_t entry[ENTRIES], wanted = (wish->end - *at) / PAGE;
	ssize_t got;
	int count = 0;

	if (wanted > ENTRIES)
		wanted = ENTRIES;
	got = pread(pagemap->fd, entry, wanted * sizeof(entry[0]),
		    (off_t)(*at / PAGE * sizeof(entry[0])));
	if (got < (ssize_t)sizeof(entry[0]))
		return got < 0 ? -errno : -ESRCH;
	for (size_t i = 0; i < (size_t)got / sizeof(entry[0]); i++, *at += PAGE)
		if ((entry[i] & POPULATED) &&
		    !append(wish, &count, *at, kinds_of(entry[i]) & wish->kinds))
			break;
	return count;
}

/* Of the lowest page, whether there is one or not. */
static bool answers(struct pagemap *pagemap, enum pagemap_way way, uint64_t left_out)
{
	struct pagemap_range range[1];
	uint64_t at = 0;

	pagemap->way = way;
	pagemap->left_out = left_out;
	return pagemap_next(pagemap, &at, PAGE, range, ARRAY_SIZE(range)) >= 0 && at == PAGE;
}

void pagemap_init(struct pagemap *pagemap, int fd)
{
	pagemap->fd = fd;
	if (fd >= 0 && (answers(pagemap, PAGEMAP_BY_RANGE, PAGEMAP_IS_PFNZERO) ||
			answers(pagemap, PAGEMAP_BY_RANGE, 0) ||
			answers(pagemap, PAGEMAP_BY_ENTRY, 0)))
		return;
	pagemap->way = PAGEMAP_UNKNOWN;
	pagemap->left_out = 0;
}

static int next(const struct pagemap *pagemap, uint64_t *at, const struct wish *wish)
{
	int count;

	do {
		count = pagemap->way == PAGEMAP_BY_RANGE ? scan(pagemap, at, wish) :
							   read_entries(pagemap, at, wish);
	} while (count == -EINTR);
	return count;
}

int pagemap_next(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		 struct pagemap_range *ret, size_t room)
{
	return next(pagemap, at, &(struct wish){ end, 0, ret, room });
}

int pagemap_next_kinds(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		       struct pagemap_range *ret, size_t room)
{
	return next(pagemap, at, &(struct wish){ end, ALL_KINDS, ret, room });
}

bool pagemap_stretch(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		     struct pagemap_range *ret)
{
	uint64_t begin = *at, page = begin & ~(PAGE - 1), last = (end + PAGE - 1) & ~(PAGE - 1);
	int count = 0;

	if (begin >= end)
		return false;
	if (pagemap->way != PAGEMAP_UNKNOWN)
		while (!count && page < last)
			count = pagemap_next(pagemap, &page, last, ret, 1);
	*at = end;
	if (count < 0 || pagemap->way == PAGEMAP_UNKNOWN)
		*ret = (struct pagemap_range){ .low = begin, .high = end };
	else if (count == 0)
		return false;
	if (ret->low < begin)
		ret->low = begin;
	if (ret->high < end)
		*at = ret->high;
	else
		ret->high = end;
	return true;
}
