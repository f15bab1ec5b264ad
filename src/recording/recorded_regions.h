/* SPDX-License-Identifier: MIT */
/*
 * recorded_regions.h - the mappings of the process at the end of a session, in its recording: the
 * tables regions and region_facts (docs/RECORDING.md). For recording.c and read.c.
 */
#ifndef MEMATTACH_RECORDING_REGIONS_H
#define MEMATTACH_RECORDING_REGIONS_H

#include "src/memory/regions.h"
#include "src/recording/db.h"

/* Within the caller's transaction, once. 0 or -errno. */
int recording_regions_put(sqlite3 *db, const struct regions *regions) _must_check_;
/* *ret is NULL where the recording has none. 0, -EBADMSG, -ENOMEM. */
int recording_regions_read(sqlite3 *db, struct regions **ret) _must_check_;

#endif
