/* SPDX-License-Identifier: MIT */
/*
 * levels.h - what else exports need of a recording: how sites stood at its snapshots,
 * and where modules were mapped.
 */
#ifndef MEMATTACH_RECORDING_LEVELS_H
#define MEMATTACH_RECORDING_LEVELS_H

#include "src/recording/recording.h"

/* The totals of one snapshot; sizes in bytes. */
struct recording_levels_at {
	double time;			/* seconds, finite, not before that of the moment before */
	uint64_t live_bytes, overhead_bytes, peak_live_bytes;
	size_t first_change, change_count;	/* in recording_levels.change; none: only totals */
};
/* From this moment on a site stands so. Levels, not differences. */
struct recording_change {
	uint32_t site;			/* index in content->snapshot->site */
	uint64_t live_count, live_bytes, alloc_count, alloc_bytes, free_count;
};
struct recording_levels {
	size_t count;			/* in order of time */
	struct recording_levels_at *moment;
	size_t change_count;
	struct recording_change *change;
};
/*
 * Of the recording that content was read from, up to content's snapshot. Rows of sites or snapshots
 * that are not there are left out. 0, -EBADMSG, -ENOMEM, -errno. recording_levels_done in any case.
 */
int recording_levels_read(const struct recording_content *content, struct recording_levels *ret)
	_must_check_;
void recording_levels_done(struct recording_levels *moments);

/* A module as it was mapped: an address in the file plus bias is one in memory. */
struct recording_place {
	char *path, *build_id;		/* never NULL */
	uint64_t low, high;		/* of its mappings, high exclusive */
	uint64_t bias;
	/* Of its code: in the file's addresses, in the file. */
	uint64_t text_address, text_offset, text_bytes;
};
struct recording_places {
	size_t count;			/* by path, build id, low */
	struct recording_place *place;
};
/* None where the recording is from before they were kept. As recording_levels_read. */
int recording_places_read(const char *path, struct recording_places *ret) _must_check_;
/* The first of these names, or NULL. */
const struct recording_place *recording_places_find(const struct recording_places *places,
						    const char *path, const char *build_id);
void recording_places_done(struct recording_places *places);

#endif
