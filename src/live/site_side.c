/* SPDX-License-Identifier: MIT */
/* site_side.c - see site_side.h. */
#include "src/live/site_side.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void site_side_done(struct site_side *side)
{
	free(side->entry);
	side->entry = NULL;
	side->count = 0;
}

int site_side_add(struct site_side *side, uint32_t *ret_number)
{
	uint32_t count = side->count;
	void *grown;

	if ((count & (count - 1)) == 0) {
		grown = reallocarray(side->entry, count ? (size_t)count * 2u : 1, side->bytes);
		if (!grown)
			return -ENOMEM;
		side->entry = grown;
	}
	*ret_number = ++side->count;
	memset(site_side_at(side, side->count), 0, side->bytes);
	return 0;
}

/* What an array of so many that grows at powers of two has room for. */
static size_t room_for(uint32_t count)
{
	size_t room = count != 0;

	while (room < count)
		room *= 2u;
	return room;
}

size_t site_side_bytes(const struct site_side *side)
{
	return room_for(side->count) * side->bytes;
}

static bool is_entry(const struct site_side *side, uint32_t number)
{
	return number != 0 && number <= side->count;
}

void site_side_pack(struct site_side *side, uint32_t count,
		    uint32_t *(*number)(void *context, uint32_t i), void *context)
{
	struct site_side packed = { .bytes = side->bytes };
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		used += is_entry(side, *number(context, i));
	if (used == side->count)
		return;
	packed.entry = calloc(used ? room_for(used) : 1u, side->bytes);
	if (!packed.entry)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *n = number(context, i);

		if (!is_entry(side, *n))
			continue;
		packed.count++;
		memcpy(site_side_at(&packed, packed.count), site_side_at(side, *n), side->bytes);
		*n = packed.count;
	}
	free(side->entry);
	*side = packed;
}
