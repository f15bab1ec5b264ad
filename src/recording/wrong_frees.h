/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees.h - wrong frees of an exact session in its recording
 * (docs/RECORDING.md).
 *
 * For recording.c and read.c. Other modes, and older recordings, lack the table.
 */
#ifndef MEMATTACH_RECORDING_WRONG_FREES_H
#define MEMATTACH_RECORDING_WRONG_FREES_H

#include "src/recording/db.h"
#include "src/live/snapshot.h"

/* Within the caller's transaction; what was there is replaced. 0 or -errno. */
int recording_wrong_frees_put(sqlite3 *db, const struct snapshot *snapshot) _must_check_;
/*
 * Into snapshot, if the recording has the table. stack_id: from ids in the file - 1 to those
 * in struct stacks. 0, -EBADMSG the table is damaged, -ENOMEM.
 */
int recording_wrong_frees_read(sqlite3 *db, const uint32_t *stack_id, uint32_t stack_count,
			       struct snapshot *snapshot) _must_check_;

#endif
