/* SPDX-License-Identifier: MIT */
/*
 * mark_read.c - memory of the picture, with zeros where there is none.
 *
 * Pages of a device or beyond the end of a file can't be read. They are skipped one by one, and
 * where some in a row fail the rest of the mapping is given up: terabytes that can't be read must
 * not cost a call a page.
 */
#include "src/leak/mark/mark_work.h"

#include <string.h>

#define PAGE		4096u
#define MANY_FAILURES	4u

static uint64_t page_after(uint64_t address)
{
	return (address | (PAGE - 1)) + 1;
}

/* Where reading may go on after address failed for the count-th time in a row. */
static uint64_t skip(const struct picture *picture, uint64_t address, unsigned int count)
{
	const struct procmap *map;

	if (count < MANY_FAILURES)
		return page_after(address);
	map = procmaps_find(&picture->maps, address);
	return map ? map->end : page_after(address);
}

void mark_read(const struct picture *picture, uint64_t address, void *buffer, size_t bytes)
{
	uint64_t at = address, end = address + bytes;
	unsigned int failures = 0;

	while (at < end) {
		size_t got =
			picture_read_some(picture, at, (char *)buffer + (at - address), end - at);
		uint64_t next;

		at += got;
		if (at >= end)
			break;
		failures = got ? 1 : failures + 1;
		next = skip(picture, at, failures);
		if (next > end)
			next = end;
		memset((char *)buffer + (at - address), 0, next - at);
		at = next;
	}
}
