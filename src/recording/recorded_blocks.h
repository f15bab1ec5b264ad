/* SPDX-License-Identifier: MIT */
/*
 * recorded_blocks.h - the blocks that lived at the end of a session, in its recording: the table
 * blocks (docs/RECORDING.md). For recording.c and read.c.
 */
#ifndef MEMATTACH_RECORDING_BLOCKS_H
#define MEMATTACH_RECORDING_BLOCKS_H

#include "src/live/block_list.h"
#include "src/recording/db.h"

/* Within the caller's transaction, once. 0 or -errno. */
int recording_blocks_put(sqlite3 *db, const struct block_list *list) _must_check_;
/* *ret is NULL where the recording has none: it has no end, or is older. 0, -EBADMSG, -ENOMEM. */
int recording_blocks_read(sqlite3 *db, struct block_list **ret) _must_check_;

#endif
