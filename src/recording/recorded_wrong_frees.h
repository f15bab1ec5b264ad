/* SPDX-License-Identifier: MIT */
/*
 * recorded_wrong_frees.h - wrong frees of an exact session in its recording
 * (docs/RECORDING.md).
 *
 * For recording.c and read.c. Other modes, and older recordings, lack the table.
 */
#ifndef MEMATTACH_RECORDING_WRONG_FREES_H
#define MEMATTACH_RECORDING_WRONG_FREES_H

#include "src/recording/db.h"
#include "src/recording/recorded_names.h"
#include "src/live/snapshot.h"

/* Within the caller's transaction; what was there is replaced. 0 or -errno. */
int recording_wrong_frees_put(sqlite3 *db, const struct snapshot *snapshot) _must_check_;
/*
 * Into snapshot, if the recording has the table. names: of the recording, with its
 * stacks. 0, -EBADMSG the table is damaged, -ENOMEM.
 */
int recording_wrong_frees_read(sqlite3 *db, const struct recording_names *names,
			       struct snapshot *snapshot) _must_check_;

#endif
