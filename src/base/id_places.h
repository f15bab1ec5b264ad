/* SPDX-License-Identifier: MIT */
/*
 * id_places.h - where in an array the thing of an id is, when things come for ever and most go
 * again, and no id is ever used twice.
 *
 * As long as nothing went, id n is at place n - 1, and the table takes no memory.
 */
#ifndef MEMATTACH_ID_PLACES_H
#define MEMATTACH_ID_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define ID_PLACES_NONE	UINT32_MAX
#define ID_PLACES_PAGE	64u	/* ids; a page of which all went takes no memory */
#define ID_PLACES_MAX	(1u << 28)

struct id_places {
	uint32_t **page;	/* NULL: nothing went; places + 1, 0: it went */
	uint32_t page_count;
	uint32_t pages_used;	/* not NULL */
	uint32_t last;		/* the last id that was given */
};

/* A zeroed struct id_places has no ids. */
void id_places_done(struct id_places *places);
/* Makes a table, so that id_places_set can't fail for the ids that there are. 0 or -ENOMEM. */
int id_places_begin(struct id_places *places) _must_check_;
/*
 * A new id, at place. pre: as long as id_places_begin was not called, the number of ids so far.
 * 0; -ENOMEM, also when there are no more ids.
 */
int id_places_add(struct id_places *places, uint32_t place, uint32_t *ret_id) _must_check_;
/* It is elsewhere now; ID_PLACES_NONE: it went, for ever. pre: id_places_begin, it is there. */
void id_places_set(struct id_places *places, uint32_t id, uint32_t place);
size_t id_places_bytes(const struct id_places *places);

/* ID_PLACES_NONE: it went, or never came. */
static inline uint32_t id_places_get(const struct id_places *places, uint32_t id)
{
	const uint32_t *page;

	if (id == 0 || id > places->last)
		return ID_PLACES_NONE;
	if (!places->page)
		return id - 1u;
	page = places->page[id / ID_PLACES_PAGE];
	return page ? page[id % ID_PLACES_PAGE] - 1u : ID_PLACES_NONE;	/* 0 - 1: NONE */
}

#endif
