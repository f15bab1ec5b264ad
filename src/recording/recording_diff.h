/* SPDX-License-Identifier: MIT */
/* recording_diff.h - a recording, or a moment of one, as a side of a comparison (report/diff.h). */
#ifndef MEMATTACH_RECORDING_DIFF_H
#define MEMATTACH_RECORDING_DIFF_H

#include "src/recording/recording.h"
#include "src/report/diff.h"

/* Is "FILE" or "FILE@MOMENT" a database (true also of a damaged one), not a document? */
bool recording_diff_is(const char *name);
/*
 * Adds what content has as one side. other: the recording that will be, or was, the other side;
 * NULL: a document is. Code of files that both recordings have is matched by build id and offset.
 * Nothing of content is kept. 0 or -ENOMEM.
 */
int recording_diff_add(struct diff *diff, enum diff_side side,
		       const struct recording_content *content,
		       const struct recording_content *other) _must_check_;

#endif
