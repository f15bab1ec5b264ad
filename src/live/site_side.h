/* SPDX-License-Identifier: MIT */
/*
 * site_side.h - what only some sites have, beside them: entries that a site knows by a number.
 *
 * So a site stays small where there are very many of them.
 */
#ifndef MEMATTACH_SITE_SIDE_H
#define MEMATTACH_SITE_SIDE_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* To begin with, zeroed but for bytes. */
struct site_side {
	size_t bytes;		/* of an entry */
	void *entry;		/* count of them; room for a power of two */
	uint32_t count;
};

void site_side_done(struct site_side *side);
/* A zeroed entry more; its number, from 1. 0 or -ENOMEM. */
int site_side_add(struct site_side *side, uint32_t *ret_number) _must_check_;
/* pre: 1 <= number <= count. Valid until the next site_side_add or _pack. */
static inline void *site_side_at(const struct site_side *side, uint32_t number)
{
	return (char *)side->entry + (number - 1u) * side->bytes;
}
/*
 * Only entries that one of count sites knows stay. number(context, i) is where site i keeps its
 * number; 0 there, or one that none has: it has none. Out of memory: all stay.
 */
void site_side_pack(struct site_side *side, uint32_t count,
		    uint32_t *(*number)(void *context, uint32_t i), void *context);
size_t site_side_bytes(const struct site_side *side);

#endif
