/* SPDX-License-Identifier: MIT */
/*
 * access_places.c - counts by instruction. One instruction always does the same: if it ever hit
 * the breakpoint for writes it writes; if it only hit the other one of a pair it reads.
 */
#include "src/access/access_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 64 };

struct access_place {
	struct leak_place seen;
	uint64_t pair_hits, write_hits;
};

static struct access_place *find(struct access_places *places, const struct frame *frame,
				 uint32_t count)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->place[i].seen.frame_count == count &&
		    memcmp(places->place[i].seen.frame, frame, count * sizeof(*frame)) == 0)
			return &places->place[i];
	return NULL;
}

int access_places_add(struct access_places *places, const struct frame *frame, uint32_t count,
		      enum access_role role, bool frees)
{
	struct access_place *place;

	if (count > LEAK_PLACE_FRAMES)
		count = LEAK_PLACE_FRAMES;
	if (!places->place)
		places->place = calloc(MAX_PLACES, sizeof(*places->place));
	if (!places->place)
		return -ENOMEM;
	if (role != ACCESS_PAIR_WRITES)
		places->hits++;
	place = find(places, frame, count);
	if (!place && places->count == MAX_PLACES)
		return 0;
	if (!place) {
		place = &places->place[places->count++];
		place->seen.frame_count = count;
		memcpy(place->seen.frame, frame, count * sizeof(*frame));
	}
	place->seen.hits += role != ACCESS_PAIR_WRITES;
	place->pair_hits += role == ACCESS_PAIR_ALL;
	place->write_hits += role == ACCESS_PAIR_WRITES;
	place->seen.frees |= frees;
	return 0;
}

static int by_hits(const void *a, const void *b)
{
	const struct access_place *x = a, *y = b;

	return (x->seen.hits < y->seen.hits) - (x->seen.hits > y->seen.hits);
}

void access_places_put(struct access_places *places, struct leak_access *ret)
{
	ret->hits = places->hits;
	ret->place_count = 0;
	/* the other one of a pair may have had all the hits that it is allowed before */
	for (size_t i = 0; i < places->count; i++)
		if (places->place[i].seen.hits < places->place[i].write_hits)
			places->place[i].seen.hits = places->place[i].write_hits;
	if (places->count)
		qsort(places->place, places->count, sizeof(*places->place), by_hits);
	for (size_t i = 0; i < places->count && ret->place_count < LEAK_MAX_PLACES; i++) {
		struct leak_place *to = &ret->place[ret->place_count++];

		*to = places->place[i].seen;
		if (places->place[i].write_hits)
			to->kind = LEAK_ACCESS_WRITE;
		else if (places->place[i].pair_hits)
			to->kind = LEAK_ACCESS_READ;
	}
}

void access_places_done(struct access_places *places)
{
	free(places->place);
	memset(places, 0, sizeof(*places));
}
