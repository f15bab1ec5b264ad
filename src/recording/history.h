/* SPDX-License-Identifier: MIT */
/*
 * history.h - what an earlier recording of the same program knows of a site.
 *
 * The same program is one whose executable has the same build id; the same site one with the same
 * stack, frame by frame as build id and offset. A library that was updated since makes other
 * sites of those that run through it.
 */
#ifndef MEMATTACH_HISTORY_H
#define MEMATTACH_HISTORY_H

#include "src/leak/candidates/suspect.h"
#include "src/recording/recording.h"

#define HISTORY_PROBLEM_BYTES 512u

struct history;
/*
 * Reads the recording at path. build_id: of the program's executable ("": it has none). 0, or
 * -errno and problem, which is for the user: no such file, no recording, damaged, one without
 * lifetimes, -ESRCH of another program.
 */
int history_open(const char *path, const char *build_id, char problem[HISTORY_PROBLEM_BYTES],
		 struct history **ret) _must_check_;
/* NULL is ignored. */
void history_free(struct history *history);
/* Seconds that it watched. */
double history_seconds(const struct history *history);
/* Who knows the build id of a module, to compare frames by: "" for none. */
struct history_modules {
	const char *(*build_id)(void *context, uint32_t module);
	void *context;
};
/*
 * What it saw at the site of this kind with these frames (without the allocator's own). NULL:
 * nothing, or the stack can't be compared. Borrowed for the life of history.
 */
const struct suspect_past *history_find(const struct history *history, enum site_kind kind,
					const struct frame *frame, uint32_t count,
					const struct history_modules *modules);

#endif
