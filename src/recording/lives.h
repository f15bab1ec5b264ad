/* SPDX-License-Identifier: MIT */
/*
 * lives.h - lifetimes and births of sites' blocks in a recording: the table site_lives
 * (docs/RECORDING.md). For recording.c and read.c.
 */
#ifndef MEMATTACH_RECORDING_LIVES_H
#define MEMATTACH_RECORDING_LIVES_H

#include "src/recording/db.h"
#include "src/live/site_lives.h"

/* Within the caller's transaction; a site's row replaces that from before. 0 or -errno. */
int recording_lives_put(sqlite3 *db, const struct site_lives *lives) _must_check_;
/* *ret is NULL where the recording has none. 0, -EBADMSG the table is damaged, -ENOMEM. */
int recording_lives_read(sqlite3 *db, struct site_lives **ret) _must_check_;

#endif
