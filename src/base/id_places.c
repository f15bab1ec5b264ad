/* SPDX-License-Identifier: MIT */
/*
 * id_places.c - see id_places.h.
 *
 * Two levels: a pointer for each 64 ids ever given, and their places while one of them is there.
 * Who makes things for ever pays an eighth of a byte for each. Ids that are used again were
 * rejected: who keeps one (a recording, the screen) would take the new thing for the old.
 * So was a hash map: it is slower, and the ids of those that stay lie close to each other.
 */
#include "src/base/id_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PAGES 64u

void id_places_done(struct id_places *places)
{
	for (uint32_t i = 0; places->page && i < places->page_count; i++)
		free(places->page[i]);
	free(places->page);
	*places = (struct id_places){ .page = NULL };
}

/* Room for the page that id lies in. */
static int reach(struct id_places *places, uint32_t id)
{
	uint32_t wanted = places->page_count ? places->page_count : FIRST_PAGES;
	uint32_t **page;

	while (id / ID_PLACES_PAGE >= wanted)
		wanted *= 2u;
	if (wanted == places->page_count)
		return 0;
	page = reallocarray(places->page, wanted, sizeof(*page));
	if (!page)
		return -ENOMEM;
	memset(page + places->page_count, 0, (wanted - places->page_count) * sizeof(*page));
	places->page = page;
	places->page_count = wanted;
	return 0;
}

static int make_page(struct id_places *places, uint32_t id)
{
	uint32_t **page;
	int err = reach(places, id);

	if (err < 0)
		return err;
	page = &places->page[id / ID_PLACES_PAGE];
	if (*page)
		return 0;
	*page = calloc(ID_PLACES_PAGE, sizeof(**page));
	if (!*page)
		return -ENOMEM;
	places->pages_used++;
	return 0;
}

int id_places_begin(struct id_places *places)
{
	struct id_places made = { .last = places->last };
	int err = 0;

	if (places->page)
		return 0;
	err = reach(&made, places->last);
	for (uint32_t id = 1; err == 0 && id <= places->last; id++) {
		err = make_page(&made, id);
		if (err == 0)
			made.page[id / ID_PLACES_PAGE][id % ID_PLACES_PAGE] = id;
	}
	if (err < 0)
		id_places_done(&made);
	else
		*places = made;
	return err;
}

int id_places_add(struct id_places *places, uint32_t place, uint32_t *ret_id)
{
	uint32_t id = places->last + 1u;

	if (id >= ID_PLACES_MAX)
		return -ENOMEM;
	if (places->page && make_page(places, id) < 0)
		return -ENOMEM;
	if (places->page)
		places->page[id / ID_PLACES_PAGE][id % ID_PLACES_PAGE] = place + 1u;
	places->last = *ret_id = id;
	return 0;
}

/* No id of the page is there, nor will a new one be. */
static bool is_empty(const struct id_places *places, uint32_t page)
{
	if (places->last / ID_PLACES_PAGE == page)
		return false;
	for (uint32_t i = 0; i < ID_PLACES_PAGE; i++)
		if (places->page[page][i])
			return false;
	return true;
}

void id_places_set(struct id_places *places, uint32_t id, uint32_t place)
{
	uint32_t at = id / ID_PLACES_PAGE;

	places->page[at][id % ID_PLACES_PAGE] = place + 1u;
	if (place != ID_PLACES_NONE || !is_empty(places, at))
		return;
	free(places->page[at]);
	places->page[at] = NULL;
	places->pages_used--;
}

size_t id_places_bytes(const struct id_places *places)
{
	return places->page_count * sizeof(*places->page) +
	       places->pages_used * (size_t)ID_PLACES_PAGE * sizeof(uint32_t);
}
