/* SPDX-License-Identifier: MIT */
/*
 * export_levels.h - how the exported sites stood at each moment of the recording, one moment after
 * the other, for formats that have a time.
 *
 * Where the recording knows what lived at the peak, that is a moment, too: in the middle of the
 * interval in which it was, as when exactly is not known.
 */
#ifndef MEMATTACH_EXPORT_EXPORT_LEVELS_H
#define MEMATTACH_EXPORT_EXPORT_LEVELS_H

#include "src/export/export.h"
#include "src/recording/levels.h"

/* A site at a moment; levels since the session began. */
struct export_level {
	uint64_t live_bytes, alloc_count, alloc_bytes, free_count;
};
struct export_levels {
	const struct export_input *input;
	struct recording_levels moments;	/* at least one */
	uint32_t *of_site;		/* index in the snapshot -> in sites + 1; 0: none */
	struct export_level *level;		/* by index in sites: now */
	unsigned __int128 sum;			/* of live bytes, now */
	size_t next;				/* moment to come */
	size_t peak;				/* that of the peak, put in here; SIZE_MAX: none */
};
/*
 * Before the first moment: all levels are 0. 0, -ENOMEM, -EBADMSG, -errno. To be done in any case.
 */
int export_levels_init(struct export_levels *levels, const struct export_input *input) _must_check_;
void export_levels_done(struct export_levels *levels);
/*
 * Goes to the next moment, which must be there; at the last one all sites stand as in the snapshot.
 * each (may be NULL): before a site's level changes; index in sites. Its first error is returned.
 */
int export_levels_step(struct export_levels *levels,
		       int (*each)(void *context, uint32_t index, const struct export_level *to),
		       void *context);
void export_levels_rewind(struct export_levels *levels);
/* Live bytes of all exported sites now, at most UINT64_MAX. */
uint64_t export_levels_sum(const struct export_levels *levels);
/* Are all blocks exported, so that figures of the whole process belong to them? */
bool export_levels_cover_heap(const struct export_levels *levels);

#endif
