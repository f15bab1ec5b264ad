/* SPDX-License-Identifier: MIT */
/*
 * export_places.c - see export_places.h.
 *
 * Real addresses rather than invented ones for all: readers that look for symbols themselves
 * (google-pprof, pprof -symbolize) work out the address in the file from the mapping.
 */
#include "src/export/export_places.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/recording/levels.h"

#define PAGE		4096ull
#define OWN_PLACES	0x100000000000ull	/* where places of our own begin */
#define LARGEST		(1ull << 40)		/* of these */

/* A module of the sites; texts are interned, so their addresses stand for them. */
struct known {
	struct { const char *path, *build_id; } key;
	uint32_t index;
	uint64_t low, high;	/* offsets of frames, high inclusive */
	UT_hash_handle hh;
};
struct placing {
	struct export_places *to;
	struct known *known;	/* a uthash, in the order of indexes */
	uint32_t count;
};

static void placing_done(struct placing *placing)
{
	struct known *known, *next;

	HASH_ITER(hh, placing->known, known, next) {
		HASH_DEL(placing->known, known);
		free(known);
	}
}

static struct known *know(struct placing *placing, const char *path, const char *build_id)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->key.path = path;
	known->key.build_id = build_id;
	known->low = UINT64_MAX;
	known->index = placing->count;
	HASH_ADD(hh, placing->known, key, sizeof(known->key), known);
	if (!known->hh.tbl) {
		free(known);
		return NULL;
	}
	placing->count++;
	return known;
}

static int add_frame(struct placing *placing, const struct view_frame *frame)
{
	struct known find = { .key = { frame->module, frame->build_id } }, *known;

	if (!frame->module[0])
		return 0;
	HASH_FIND(hh, placing->known, &find.key, sizeof(find.key), known);
	if (!known)
		known = know(placing, frame->module, frame->build_id);
	if (!known)
		return -ENOMEM;
	known->low = frame->offset < known->low ? frame->offset : known->low;
	known->high = frame->offset > known->high ? frame->offset : known->high;
	placing->to->of_frame[frame->index] = known->index + 1;
	return 0;
}

/* The program comes first, if only in the name of target.exe. */
static int collect(struct placing *placing, const struct export_input *input)
{
	const struct view_sites *sites = input->sites;
	const char *exe = input->content->snapshot->target.exe;
	int err = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; err == 0 && i < sites->frame_count; i++) {
			bool program = strcmp(sites->frame[i]->module, exe) == 0;

			if (program == (pass == 0))
				err = add_frame(placing, sites->frame[i]);
		}
		if (err == 0 && pass == 0 && !placing->count)
			err = know(placing, exe, "") ? 0 : -ENOMEM;
	}
	return err;
}

/* Where the recording says it was; false: it does not, or what it says can't be. */
static bool place_as_recorded(struct export_place *place, const struct known *known,
			      const struct recording_places *recorded)
{
	const struct recording_place *found = recording_places_find(recorded, place->path,
								    place->build_id);
	uint64_t text, length;

	if (!found || found->low >= found->high || known->low > known->high)
		return false;
	text = found->text_address & ~(PAGE - 1);
	place->bias = found->bias;
	place->start = found->bias + text;
	place->file_offset = found->text_offset & ~(PAGE - 1);
	if (place->start < found->low || place->start >= found->high || known->low < text)
		return false;
	/* Up to its end, unless there is more code behind it. */
	length = (found->text_address - text + found->text_bytes + PAGE - 1) & ~(PAGE - 1);
	if (length < found->high - place->start && known->high - text < length)
		place->limit = place->start + length;
	else
		place->limit = found->high;
	return known->high - text < place->limit - place->start;
}

static void place_anew(struct export_place *place, const struct known *known, uint64_t *cursor)
{
	uint64_t first = known->low > known->high ? 0 : known->low & ~(PAGE - 1);
	uint64_t span = known->low > known->high ? 0 : known->high - first;

	span = ((span < LARGEST ? span : LARGEST) | (PAGE - 1)) + 1;
	place->start = *cursor;
	place->limit = *cursor + span;
	place->bias = place->start - first;
	place->file_offset = first;
	*cursor = place->limit + PAGE;
}

struct by_start {
	const struct export_place *place;
	uint32_t index;
};

static int compare_starts(const void *a, const void *b)
{
	const struct by_start *x = a, *y = b;

	return (x->place->start > y->place->start) - (x->place->start < y->place->start) ?:
	       (x->index > y->index) - (x->index < y->index);
}

/* Of places that overlap the first by address keeps its own. */
static int move_overlapping(struct export_places *places, const struct known *known,
			    uint64_t cursor)
{
	_cleanup_free_ struct by_start *order = calloc(places->count, sizeof(*order));
	_cleanup_free_ const struct known **by_index = calloc(places->count, sizeof(*by_index));
	uint64_t end = 0;

	if (!order || !by_index)
		return -ENOMEM;
	for (; known; known = known->hh.next)
		by_index[known->index] = known;
	for (uint32_t i = 0; i < places->count; i++)
		order[i] = (struct by_start){ &places->place[i], i };
	qsort(order, places->count, sizeof(*order), compare_starts);
	for (uint32_t i = 0; i < places->count; i++) {
		struct export_place *place = &places->place[order[i].index];

		if (place->start < end)
			place_anew(place, by_index[order[i].index], &cursor);
		else
			end = place->limit;
	}
	return 0;
}

static int place_all(struct placing *placing, const struct recording_places *recorded)
{
	struct export_places *to = placing->to;
	uint64_t cursor = OWN_PLACES;

	to->place = calloc(placing->count, sizeof(*to->place));
	if (!to->place)
		return -ENOMEM;
	to->count = placing->count;
	for (const struct known *known = placing->known; known; known = known->hh.next) {
		struct export_place *place = &to->place[known->index];

		place->path = known->key.path;
		place->build_id = known->key.build_id;
		if (!place_as_recorded(place, known, recorded))
			place_anew(place, known, &cursor);
	}
	return move_overlapping(to, placing->known, cursor);
}

int export_places_init(struct export_places *places, const struct export_input *input)
{
	_cleanup_(recording_places_done) struct recording_places recorded = { 0 };
	_cleanup_(placing_done) struct placing placing = { .to = places };
	int err;

	*places = (struct export_places){ 0 };
	places->of_frame = calloc((size_t)input->sites->frame_count + 1, sizeof(uint32_t));
	if (!places->of_frame)
		return -ENOMEM;
	err = recording_places_read(input->content->path, &recorded);
	if (err == 0)
		err = collect(&placing, input);
	if (err == 0)
		err = place_all(&placing, &recorded);
	for (uint32_t i = 0; err == 0 && i < input->sites->frame_count; i++) {
		if (places->of_frame[i] && input->sites->frame[i]->function)
			places->place[places->of_frame[i] - 1].named = true;
	}
	return err;
}

void export_places_done(struct export_places *places)
{
	free(places->place);
	free(places->of_frame);
	*places = (struct export_places){ 0 };
}

const struct export_place *export_places_of(const struct export_places *places,
					    const struct view_frame *frame)
{
	uint32_t at = places->of_frame[frame->index];

	return at ? &places->place[at - 1] : NULL;
}

uint64_t export_places_address(const struct export_places *places, const struct view_frame *frame)
{
	const struct export_place *place = export_places_of(places, frame);

	return frame->offset + (place ? place->bias : 0);
}

uint32_t export_machine_frame(const struct view_frame *const *frame, uint32_t count)
{
	uint32_t length = 1;

	while (length < count && length < SYMBOLIZER_MAX_FRAMES && frame[length - 1]->inlined)
		length++;
	return length;
}
