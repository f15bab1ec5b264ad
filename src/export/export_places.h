/* SPDX-License-Identifier: MIT */
/*
 * export_places.h - an address for each frame, for formats that have addresses and mappings.
 *
 * A module lies where the recording says that it was mapped. Where that is not known, or another
 * module was at the same place at another time, it gets a place of its own, far from all: within
 * one export an address means one module.
 */
#ifndef MEMATTACH_EXPORT_EXPORT_PLACES_H
#define MEMATTACH_EXPORT_EXPORT_PLACES_H

#include "src/export/export.h"

struct export_place {
	const char *path, *build_id;	/* borrowed from the sites, or target.exe */
	uint64_t bias;			/* plus view_frame.offset: an address */
	uint64_t start, limit;		/* of its code; limit exclusive, not below start */
	uint64_t file_offset;		/* of start in the file */
	bool named;			/* some function in it has a name */
};
struct export_places {
	size_t count;			/* at least one: the program is the first */
	struct export_place *place;
	uint32_t *of_frame;		/* by view_frame.index: place + 1; 0: in no module */
};
/* 0, -ENOMEM, -EBADMSG, -errno. To be done in any case. */
int export_places_init(struct export_places *places, const struct export_input *input)
	_must_check_;
void export_places_done(struct export_places *places);
/* NULL: in no module, its offset is the address. */
const struct export_place *export_places_of(const struct export_places *places,
					    const struct view_frame *frame);
/* Of the call instruction. */
uint64_t export_places_address(const struct export_places *places, const struct view_frame *frame);

/*
 * How many frames from frame[0] on are one machine frame, innermost first: those inlined and the
 * function that is really there. count: at least 1. The answer is at least 1, at most count.
 */
uint32_t export_machine_frame(const struct view_frame *const *frame, uint32_t count);

#endif
