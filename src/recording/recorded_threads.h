/* SPDX-License-Identifier: MIT */
/* recorded_threads.h - the tables threads, thread_sites and thread_frees of a recording. */
#ifndef MEMATTACH_RECORDING_THREADS_H
#define MEMATTACH_RECORDING_THREADS_H

#include "src/live/thread_table.h"
#include "src/recording/db.h"

/* Replaces what was there, NULL: by nothing; within a transaction. 0 or -errno. */
int recording_threads_put(sqlite3 *db, const struct thread_table *table) _must_check_;
/* About how many bytes it will take. */
uint64_t recording_threads_bytes(const struct thread_table *table);
/* *ret: NULL where there are no such tables; the caller's. 0, -EBADMSG, -ENOMEM. */
int recording_threads_read(sqlite3 *db, struct thread_table **ret) _must_check_;

#endif
