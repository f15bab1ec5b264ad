/* SPDX-License-Identifier: MIT */
/*
 * counted.h - what a session that only counts knows, in its recording (docs/RECORDING.md).
 *
 * For recording.c and read.c. Other modes, and older recordings, lack the tables.
 */
#ifndef MEMATTACH_RECORDING_COUNTED_H
#define MEMATTACH_RECORDING_COUNTED_H

#include "src/live/snapshot.h"
#include "src/recording/db.h"

/*
 * Within the caller's transaction: the figures of that snapshot; at the end the sites' sizes, too,
 * where they do not take more than an eighth of limit (bytes; 0: none). 0 or -errno.
 */
int recording_counted_put(sqlite3 *db, uint64_t id, uint64_t limit,
			  const struct snapshot *snapshot) _must_check_;
/*
 * The figures of snapshot id into snapshot, and the sites' sizes if that is the end. Nothing where
 * there are none. 0, -EBADMSG a table is damaged, -ENOMEM.
 */
int recording_counted_read(sqlite3 *db, uint64_t id, bool is_end, struct snapshot *snapshot)
	_must_check_;

#endif
