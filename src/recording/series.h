/* SPDX-License-Identifier: MIT */
/*
 * series.h - each site's figures over the snapshots of a recording: the table
 * snapshot_sites, of bounded size (docs/RECORDING.md). For recording.c and read.c.
 */
#ifndef MEMATTACH_RECORDING_SERIES_H
#define MEMATTACH_RECORDING_SERIES_H

#include "src/leak/candidates/trend.h"
#include "src/recording/db.h"
#include "src/live/snapshot.h"

/* Unless few snapshots have that many: these are kept in any case. */
#define RECORDING_SERIES_ROWS	100000u
#define RECORDING_SERIES_LEAST	16u
#define RECORDING_SERIES_MOST	512u	/* snapshots that have rows */
#define RECORDING_SERIES_COLUMNS 11u	/* of the table; older ones have fewer */

struct recording_series;
/* db: borrowed, with the table. 0 or -errno. */
int recording_series_new(sqlite3 *db, struct recording_series **ret) _must_check_;
void recording_series_free(struct recording_series *series);
/*
 * Within the caller's transaction: the sites whose figures changed since the snapshot before, as
 * rows of the snapshot with this id. Where there are too many rows, an older snapshot's are
 * given up. 0 or -errno.
 */
int recording_series_add(struct recording_series *series, uint64_t id,
			 const struct snapshot *snapshot) _must_check_;

/*
 * Takes what is known of the table from the table itself: a transaction was undone. What is left
 * out for want of memory is written once more. 0 or -errno.
 */
int recording_series_reload(struct recording_series *series) _must_check_;

/*
 * Within the caller's transaction: gives up the snapshot that is missed least, totals and all, and
 * the totals of those between its neighbours. The first, the last, the highest and (while there are
 * others) those asked for by a signal stay. 1 and how many; 0 there is none; -errno.
 */
int recording_series_give_up(struct recording_series *series, uint64_t *ret_count) _must_check_;

/*
 * The levels of live bytes of snapshot->site[i] over the session in (*ret)[i], to be judged
 * with *ret_looks; the caller frees it. NULL: the recording has none. 0, -EBADMSG, -ENOMEM.
 */
int recording_series_read(sqlite3 *db, const struct snapshot *snapshot, struct trend **ret,
			  uint64_t *ret_looks) _must_check_;

#endif
