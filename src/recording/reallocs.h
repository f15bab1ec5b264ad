/* SPDX-License-Identifier: MIT */
/* reallocs.h - the table reallocs of a recording: what became of calls of realloc, by site. */
#ifndef MEMATTACH_RECORDING_REALLOCS_H
#define MEMATTACH_RECORDING_REALLOCS_H

#include "src/live/snapshot.h"
#include "src/recording/db.h"
#include "src/recording/recorded_names.h"

/* Of sites with events since then (seconds). Within a transaction. 0 or -errno. */
int recording_reallocs_put(sqlite3 *db, const struct snapshot *snapshot, double since)
	_must_check_;
/*
 * Into snapshot's sites, and those at which nothing was allocated; sets snapshot->resizes if
 * there is such a table. 0, -EBADMSG, -ENOMEM.
 */
int recording_reallocs_read(sqlite3 *db, const struct recording_names *names,
			    struct snapshot *snapshot) _must_check_;

#endif
