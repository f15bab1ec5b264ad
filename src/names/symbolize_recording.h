/* SPDX-License-Identifier: MIT */
/*
 * symbolize_recording.h - names for a recording that has none, or lacks some: a session that was
 * killed, files that have come since, another machine.
 */
#ifndef MEMATTACH_RECORDING_SYMBOLIZE_H
#define MEMATTACH_RECORDING_SYMBOLIZE_H

#include "src/recording/recording.h"

/* What became of one module; texts are its owner's. */
struct symbolized_module {
	char *path, *build_id;		/* as recorded */
	char *found;			/* the file that names it; NULL: none */
	char *tried;			/* where it, or its lines, were not found; "": nowhere */
	uint32_t wanted;		/* frames without function or line before */
	uint32_t named, lined;		/* of these: with a function, with a line now */
};
struct symbolized {
	size_t count;			/* modules that lacked something, those with most first */
	struct symbolized_module *module;
	uint32_t elsewhere;		/* frames without a name in code of no file */
	uint32_t written;		/* frames whose names were added or bettered */
};
/*
 * Finds names for the frames of the recording at path that have no function or no line, and
 * writes them in one transaction. folder, count: see symbol_files_new. 0, errors of
 * recording_read, -EROFS, -EACCES, -ENOSPC, -EBUSY it is being written, -ESTALE it is another one
 * now; after an error the recording is as it was. symbolized_done in any case.
 */
int recording_symbolize_file(const char *path, const char *const *folder, size_t count,
			     struct symbolized *ret) _must_check_;
void symbolized_done(struct symbolized *symbolized);

#endif
