/* SPDX-License-Identifier: MIT */
/*
 * recorded_leaks.h - the leak report of a session in its recording (docs/RECORDING.md).
 *
 * For recording.c and read.c. The tables are made with the report: a recording of a
 * session without one, or of an older memattach, has none.
 */
#ifndef MEMATTACH_RECORDING_LEAKS_H
#define MEMATTACH_RECORDING_LEAKS_H

#include "src/leak/findings/leak_report.h"
#include "src/recording/db.h"

/* Within the caller's transaction; what was there is replaced. 0 or -errno. */
int recording_leaks_put(sqlite3 *db, const struct leak_report *leaks) _must_check_;
/* *ret is NULL where the recording has none. 0, -EBADMSG the tables are damaged, -ENOMEM. */
int recording_leaks_read(sqlite3 *db, struct leak_report **ret) _must_check_;

#endif
