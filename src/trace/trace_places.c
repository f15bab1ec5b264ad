/* SPDX-License-Identifier: MIT */
/*
 * trace_places.c - see trace_places.h.
 *
 * Names are read by a child (names/names.h). While it is at it (a second, for a large program's
 * debug information) nobody waits here: the lines wait in their queue, and the rings are emptied.
 */
#include "src/trace/trace_places.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "src/report/caller.h"
#include "src/report/name_shape.h"

#define PLACES_MAX 65536u	/* more than that are forged: all are forgotten then */
#define PATIENCE 0.001		/* seconds: what has been read before is answered sooner */

struct place_key {
	uint64_t offset;
	uint32_t module, flags;
};
struct place {
	struct place_key key;
	struct trace_place place;
	UT_hash_handle hh;
};
struct trace_places {
	struct symbolizer *symbolizer;
	struct session_names *names;
	struct trace_filter filter;
	struct name_shaper *shaper;	/* NULL: names are shown as they are */
	trace_place_fn text;
	struct place *known;
	struct place *last;	/* asked for most recently */
	bool asked;		/* an answer is on its way: it is not waited for again */
};

int trace_places_new(const struct trace_places_input *input, struct trace_places **ret)
{
	struct trace_places *places = calloc(1, sizeof(*places));

	if (!places || name_shaper_new(&input->shape, &places->shaper) < 0) {
		free(places);
		return -ENOMEM;
	}
	places->symbolizer = input->symbolizer;
	places->names = input->names;
	places->filter = *input->filter;
	places->text = input->text;
	*ret = places;
	return 0;
}

static void forget_all(struct trace_places *places)
{
	struct place *place, *next;

	HASH_ITER(hh, places->known, place, next) {
		HASH_DEL(places->known, place);
		free(place->place.text);
		free(place);
	}
	places->last = NULL;
}

void trace_places_free(struct trace_places *places)
{
	if (!places)
		return;
	forget_all(places);
	name_shaper_free(places->shaper);
	free(places);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct symbol_frame *look_up(struct trace_places *places, const struct frame *caller,
					  bool wait, size_t *ret_count)
{
	const struct symbol_frame *frame;

	if (!wait)
		session_names_until(places->names, now() + (places->asked ? 0 : PATIENCE));
	frame = symbolizer_frame_soon(places->symbolizer, caller, ret_count);
	session_names_until(places->names, 0);
	places->asked = !frame;
	return frame;
}

static struct place *places_add(struct trace_places *places, const struct place_key *key,
				const struct symbol_frame *frame, size_t count)
{
	const struct frame machine = { .module = key->module, .flags = key->flags,
				       .offset = key->offset };
	struct place *place = calloc(1, sizeof(*place));
	struct caller_search search = { 0 };

	if (!place)
		return NULL;
	place->key = *key;
	place->place.passes = trace_filter_place(&places->filter, frame, count, false);
	place->place.passes_called = trace_filter_place(&places->filter, frame, count, true);
	caller_search_frames(&search, frame, count);
	place->place.helper = search.found == count;
	place->place.ends_search = !place->place.helper && (search.found || search.ended);
	frame = name_shaper_frames(places->shaper, &machine, frame, count, &count);
	place->place.text = places->text(frame, count);
	if (!place->place.text) {
		free(place);
		return NULL;
	}
	if (HASH_COUNT(places->known) >= PLACES_MAX)
		forget_all(places);
	HASH_ADD(hh, places->known, key, sizeof(place->key), place);
	return place;
}

const struct trace_place *trace_places_get(struct trace_places *places, const struct frame *caller,
					   bool wait)
{
	struct place_key key = { .offset = caller->offset, .module = caller->module,
				 .flags = caller->flags };
	const struct symbol_frame *frame;
	struct place *place = places->last;
	size_t count = 0;

	if (place && memcmp(&place->key, &key, sizeof(key)) == 0)
		return &place->place;
	HASH_FIND(hh, places->known, &key, sizeof(key), place);
	if (!place) {
		frame = look_up(places, caller, wait, &count);
		place = frame ? places_add(places, &key, frame, count) : NULL;
	}
	places->last = place;
	return place ? &place->place : NULL;
}

const struct trace_place *trace_places_caller(struct trace_places *places,
					      const struct stack *stack, uint32_t from, bool wait)
{
	uint32_t found = from;

	for (uint32_t i = from; i < stack->frame_count; i++) {
		const struct trace_place *place = trace_places_get(places, &stack->frame[i],
								   wait);

		if (!place)
			return NULL;
		if (place->helper)
			found = i + 1;
		if (place->ends_search)
			break;
	}
	if (found >= stack->frame_count)
		found = from;
	return trace_places_get(places, &stack->frame[found], wait);
}
