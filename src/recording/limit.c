/* SPDX-License-Identifier: MIT */
/*
 * limit.c - see limit.h.
 *
 * SQLite never gives pages back to the file system while it writes, but uses those again that were
 * freed: so what counts is pages in use, and the file ends at max_page_count. The log is
 * folded in when it has a sixteenth of that; not for less than 64 pages, as that waits for the
 * disk.
 * What is given up here are totals, too, unlike what series.c does by itself.
 */
#include "src/recording/limit.h"

#include <errno.h>
#include <stdio.h>

#define LOG_SHARE	16u
#define LOG_LEAST	64u	/* pages */
#define NAMES_PART	224u	/* of 256 of the limit: names don't fill it beyond */
#define AT_ONCE		32u	/* snapshots for each that comes: the writer is not to stop long */

static int read_number(void *context, struct row *row)
{
	uint64_t *number = context;

	*number = row_uint(row);
	return 0;
}

static int limit_ask(sqlite3 *db, const char *sql, uint64_t *ret)
{
	*ret = 0;
	return recording_db_query(db, sql, 0, read_number, ret);
}

int recording_limit_begin(const struct recording_limit *limit, sqlite3 *db)
{
	uint64_t page, log;
	char sql[160];
	int err = limit_ask(db, "PRAGMA page_size", &page);

	if (err < 0 || page == 0)
		return err < 0 ? err : -EBADMSG;
	log = limit->bytes / page / LOG_SHARE;
	log = log > LOG_LEAST ? log : LOG_LEAST;
	/* these return a row each, which recording_db_run leaves alone */
	(void)snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%llu; "
		       "PRAGMA wal_autocheckpoint=%llu; PRAGMA journal_size_limit=%llu",
		       (unsigned long long)(limit->bytes / page), (unsigned long long)log,
		       (unsigned long long)(log * page));
	return recording_db_run(db, sql);
}

int recording_limit_used(sqlite3 *db, uint64_t *ret)
{
	uint64_t pages = 0, page = 0;
	int err = limit_ask(db,
			    "SELECT page_count - freelist_count FROM pragma_page_count, "
			    "pragma_freelist_count",
			    &pages);

	if (err == 0)
		err = limit_ask(db, "PRAGMA page_size", &page);
	*ret = pages * page;
	return err;
}

/* Snapshots at which nothing happened that sites would know of: all but one in step. */
static int thin_quiet(struct recording_limit *limit, sqlite3 *db, uint64_t last)
{
	char sql[200];
	int err;

	limit->step = limit->step ? limit->step * 2 : 2;
	(void)snprintf(sql, sizeof(sql), "DELETE FROM snapshots WHERE id %% %llu != 0 AND "
		       "id < %llu AND id NOT IN (SELECT snapshot FROM snapshot_sites)",
		       (unsigned long long)limit->step, (unsigned long long)last);
	err = recording_db_run(db, sql);
	if (err < 0)
		return err;
	limit->given_up += (uint64_t)sqlite3_changes(db);
	return sqlite3_changes(db) > 0;
}

int recording_limit_keep(struct recording_limit *limit, sqlite3 *db,
			 struct recording_series *series, uint64_t last, unsigned int part)
{
	uint64_t bytes = 0;
	uint64_t most = limit->bytes / 256 * part + limit->names;
	int err = limit->bytes ? recording_limit_used(db, &bytes) : 0;

	for (unsigned int i = 0; err >= 0 && i < AT_ONCE && bytes > most; i++) {
		uint64_t count = 0;

		err = recording_series_give_up(series, &count);
		limit->given_up += count;
		if (err == 0)
			err = thin_quiet(limit, db, last);
		if (err <= 0)	/* nothing is left */
			break;
		err = recording_limit_used(db, &bytes);
	}
	return err < 0 ? err : 0;
}

int recording_limit_name(struct recording_limit *limit, sqlite3 *db, uint64_t before)
{
	uint64_t bytes = 0;
	int err = limit->bytes ? recording_limit_used(db, &bytes) : 0;

	if (err < 0)
		return err;
	if (bytes > limit->bytes / 256 * NAMES_PART)
		return -ENOSPC;
	limit->names += bytes > before ? bytes - before : 0;
	return 0;
}
