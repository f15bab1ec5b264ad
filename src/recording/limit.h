/* SPDX-License-Identifier: MIT */
/*
 * limit.h - how large a recording may become (--max-recording). For recording.c.
 *
 * The course of the session is what can be given up, old snapshots first; the rest (stacks, sites,
 * names) is kept room for, and ends the recording if there is none.
 */
#ifndef MEMATTACH_RECORDING_LIMIT_H
#define MEMATTACH_RECORDING_LIMIT_H

#include "src/recording/series.h"

#define RECORDING_LIMIT_LEAST	(256u << 10)

struct recording_limit {
	uint64_t bytes;		/* of the file and its log together; 0: no limit */
	uint64_t given_up;	/* snapshots */
	uint64_t step;		/* of quiet snapshots, one in so many is kept */
	uint64_t names;		/* bytes that hold names already: the end has room for these */
};
/* Has SQLite keep to limit->bytes. pre: write-ahead mode. 0 or -errno. */
int recording_limit_begin(const struct recording_limit *limit, sqlite3 *db) _must_check_;
/*
 * Within a transaction: gives up snapshots while more than that part of 256 of the limit is in use.
 * last: id of the newest, which stays. 0 (also when nothing is left to give up) or -errno.
 */
int recording_limit_keep(struct recording_limit *limit, sqlite3 *db,
			 struct recording_series *series, uint64_t last, unsigned int part)
	_must_check_;
/*
 * Within a transaction: counts what was written in it as names. before: recording_limit_used() when
 * it began. 0; -ENOSPC they leave no room for what is to come; -errno.
 */
int recording_limit_name(struct recording_limit *limit, sqlite3 *db, uint64_t before) _must_check_;
/* Bytes in use. 0 or -errno. */
int recording_limit_used(sqlite3 *db, uint64_t *ret) _must_check_;

#endif
