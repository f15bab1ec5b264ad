/* SPDX-License-Identifier: MIT */
/*
 * access_changes.c - see access_changes.h.
 *
 * A page that is shared no longer was written to, or given back and taken anew, or lay in a huge
 * page with one that was: so that alone says nothing about a block. A difference does.
 * Rejected: soft-dirty bits, which many kernels do not have; userfaultfd's write protection, for
 * which calls have to be made in the target; both would cost it a fault a page more.
 */
#include "src/access_changes.h"

#include <string.h>
#include <unistd.h>

#define PAGE		4096ull
#define ENTRIES		512u
#define EXCLUSIVE	(1ull << 56)	/* of a pagemap entry: mapped by nobody else */
#define PRESENT		(1ull << 63)

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

/* Which of the pages from low on, count of them, may have changed: an entry each. */
static void ask(const struct access_changes *c, uint64_t low, uint64_t *entry, size_t count)
{
	size_t bytes = count * sizeof(*entry);

	if (c->pagemap >= 0 &&
	    pread(c->pagemap, entry, bytes, (off_t)(low / PAGE * sizeof(*entry))) ==
		    (ssize_t)bytes)
		return;
	for (size_t i = 0; i < count; i++)
		entry[i] = EXCLUSIVE;
}

/* A page that is swapped out, or never was there, may have changed as well. */
static bool may_differ(uint64_t entry)
{
	return (entry & EXCLUSIVE) || !(entry & PRESENT);
}

bool access_changes_in(struct access_changes *c, uint64_t address, uint64_t bytes)
{
	uint64_t entry[ENTRIES], end = address + bytes, page = address & ~(PAGE - 1);

	if (c->before < 0 || end < address)
		return false;
	while (page < end && c->budget) {
		size_t count = (end - page + PAGE - 1) / PAGE;

		count = count < ENTRIES ? count : ENTRIES;
		ask(c, page, entry, count);
		for (size_t i = 0; i < count; i++, page += PAGE) {
			uint64_t low = page > address ? page : address;
			uint64_t high = page + PAGE < end ? page + PAGE : end;

			if (may_differ(entry[i]) && differ(c, low, high))
				return true;
		}
	}
	return false;
}
