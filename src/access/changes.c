/* SPDX-License-Identifier: MIT */
/*
 * changes.c - see changes.h.
 *
 * A page that is shared no longer was written to, or given back and taken anew, or lay in a huge
 * page with one that was: so that alone says nothing about a block. A difference does. Where there
 * is no page in either, nothing is read: that would make page tables for it in the process.
 * Rejected: soft-dirty bits, which many kernels do not have; userfaultfd's write protection, for
 * which calls have to be made in the target; both would cost it a fault a page more.
 */
#include "src/access/changes.h"

#include <string.h>
#include <unistd.h>

#define PAGE		4096ull
#define ENTRIES		512u
#define EXCLUSIVE	(1ull << 56)	/* of a pagemap entry: mapped by nobody else */
#define PRESENT		(1ull << 63)
#define SWAPPED		(1ull << 62)

/* Memory that was given back is not there, and differs from nothing. */
static bool differ(struct access_changes *c, uint64_t low, uint64_t high)
{
	uint8_t before[PAGE], now[PAGE];
	size_t bytes = high - low;

	if (c->budget < bytes)
		return false;
	c->budget -= bytes;
	return pread(c->before, before, bytes, (off_t)low) == (ssize_t)bytes &&
	       pread(c->now, now, bytes, (off_t)low) == (ssize_t)bytes &&
	       memcmp(before, now, bytes) != 0;
}

/* The entries of the pages from low on, count of them; unknown: each was written to. */
static void changes_ask(int pagemap, uint64_t low, uint64_t *entry, size_t count)
{
	size_t bytes = count * sizeof(*entry);

	if (pagemap >= 0 &&
	    pread(pagemap, entry, bytes, (off_t)(low / PAGE * sizeof(*entry))) == (ssize_t)bytes)
		return;
	for (size_t i = 0; i < count; i++)
		entry[i] = EXCLUSIVE | PRESENT;
}

/* A page that is swapped out, or never was there, may have changed as well. */
static bool may_differ(uint64_t before, uint64_t now)
{
	return ((before & EXCLUSIVE) || !(before & PRESENT)) &&
	       ((before | now) & (PRESENT | SWAPPED));
}

bool access_changes_in(struct access_changes *c, uint64_t address, uint64_t bytes)
{
	uint64_t before[ENTRIES], now[ENTRIES], end = address + bytes, page = address & ~(PAGE - 1);

	if (c->before < 0 || end < address)
		return false;
	while (page < end && c->budget) {
		size_t count = (end - page + PAGE - 1) / PAGE;

		count = count < ENTRIES ? count : ENTRIES;
		changes_ask(c->pagemap, page, before, count);
		changes_ask(c->pagemap_now, page, now, count);
		for (size_t i = 0; i < count; i++, page += PAGE) {
			uint64_t low = page > address ? page : address;
			uint64_t high = page + PAGE < end ? page + PAGE : end;

			if (may_differ(before[i], now[i]) && differ(c, low, high))
				return true;
		}
	}
	return false;
}
