/* SPDX-License-Identifier: MIT */
/*
 * moment.h - one moment of a recording: FILE@120s, FILE@50%, FILE@peak. For
 * read.c; others call recording_read_at.
 */
#ifndef MEMATTACH_RECORDING_MOMENT_H
#define MEMATTACH_RECORDING_MOMENT_H

#include "src/recording/db.h"
#include "src/live/snapshot.h"

enum recording_moment_kind {
	RECORDING_END = 0,
	RECORDING_TIME,		/* value: seconds since the attach */
	RECORDING_PERCENT,	/* value: of the time recorded */
	RECORDING_PEAK,		/* the snapshot with the most live bytes */
};
struct recording_moment {
	enum recording_moment_kind kind;
	double value;
};
/*
 * Parts "FILE@MOMENT"; without an '@', or if a file has the whole name, the moment is the end.
 * *ret_path is the caller's to free. 0, -EINVAL it is no moment, -ENOMEM.
 */
int recording_moment_parse(const char *name, char **ret_path, struct recording_moment *ret)
	_must_check_;

/* A snapshot of a recording. */
struct recording_at {
	uint64_t snapshot;	/* id; 0: before the first */
	double time;		/* seconds */
	bool is_end;		/* it is the last one */
};
/*
 * The snapshot of that moment: the last one until then of which the sites are known. 0, -ERANGE
 * the recording ends before, -EOPNOTSUPP it has no figures of moments, -EBADMSG, -ENOMEM.
 */
int recording_moment_find(sqlite3 *db, const struct recording_moment *moment,
			  struct recording_at *ret) _must_check_;
/*
 * Makes of a snapshot of the end, whose totals are those of the moment, one of the moment. 0,
 * -EBADMSG, -ENOMEM.
 */
int recording_moment_apply(sqlite3 *db, const struct recording_at *at, struct snapshot *snapshot)
	_must_check_;

#endif
