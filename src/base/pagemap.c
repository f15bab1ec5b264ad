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
#define MOST_SPAN	(64ull << 30)	/* asked for at once, and of that populated pages */
#define MOST_PAGES	(256ull << 10)

static int scan(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		struct pagemap_range *ret, size_t room)
{
	struct pagemap_scan request = {
		.size = sizeof(request), .start = *at, .end = end, .vec = (uintptr_t)ret,
		.vec_len = room, .max_pages = MOST_PAGES, .category_inverted = pagemap->left_out,
		.category_mask = pagemap->left_out,
		.category_anyof_mask = PAGEMAP_IS_PRESENT | PAGEMAP_IS_SWAPPED,
	};
	int count;

	if (end - *at > MOST_SPAN)
		request.end = *at + MOST_SPAN;
	count = ioctl(pagemap->fd, PAGEMAP_SCAN_REQUEST, &request);
	if (count < 0)
		return -errno;
	if (request.walk_end <= *at || request.walk_end > request.end || (size_t)count > room)
		return -EPROTO;
	*at = request.walk_end;
	return count;
}

/* Joins what follows each other; false: there is no room for another. */
static bool append(struct pagemap_range *ret, size_t room, int *count, uint64_t page)
{
	struct pagemap_range *last = *count ? &ret[*count - 1] : NULL;

	if (last && last->high == page) {
		last->high += PAGE;
		return true;
	}
	if ((size_t)*count == room)
		return false;
	ret[(*count)++] = (struct pagemap_range){ page, page + PAGE, 0 };
	return true;
}

static int read_entries(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
			struct pagemap_range *ret, size_t room)
{
	uint64_t entry[ENTRIES], wanted = (end - *at) / PAGE;
	ssize_t got;
	int count = 0;

	if (wanted > ENTRIES)
		wanted = ENTRIES;
	got = pread(pagemap->fd, entry, wanted * sizeof(entry[0]),
		    (off_t)(*at / PAGE * sizeof(entry[0])));
	if (got < (ssize_t)sizeof(entry[0]))
		return got < 0 ? -errno : -ESRCH;
	for (size_t i = 0; i < (size_t)got / sizeof(entry[0]); i++, *at += PAGE)
		if ((entry[i] & POPULATED) && !append(ret, room, &count, *at))
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

int pagemap_next(const struct pagemap *pagemap, uint64_t *at, uint64_t end,
		 struct pagemap_range *ret, size_t room)
{
	int count;

	do {
		if (pagemap->way == PAGEMAP_BY_RANGE)
			count = scan(pagemap, at, end, ret, room);
		else
			count = read_entries(pagemap, at, end, ret, room);
	} while (count == -EINTR);
	return count;
}
