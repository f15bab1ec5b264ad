/* SPDX-License-Identifier: MIT */
/*
 * heaps.h - where the memory of the heaps went, at the end of a session, in its recording: the
 * tables heap_facts, heaps, heap_arenas, heap_bins, heap_threads (docs/RECORDING.md). For
 * recording.c and read.c.
 */
#ifndef MEMATTACH_RECORDING_HEAPS_H
#define MEMATTACH_RECORDING_HEAPS_H

#include "src/memory/heap_figures.h"
#include "src/recording/db.h"

/* Within the caller's transaction, once. 0 or -errno. */
int recording_heaps_put(sqlite3 *db, const struct heap_figures *figures) _must_check_;
/* *ret is NULL where the recording has none. 0, -EBADMSG, -ENOMEM. */
int recording_heaps_read(sqlite3 *db, struct heap_figures **ret) _must_check_;

#endif
