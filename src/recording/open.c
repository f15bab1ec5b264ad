/* SPDX-License-Identifier: MIT */
/*
 * open.c - see open.h. Write-ahead logging if the file system can do it (recording.c says why); a
 * file without a name has nobody who reads it meanwhile, and a rollback journal.
 */
#include "src/recording/open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/recording/db.h"
#include "src/recording/recording.h"
#include "src/recording/recording_place.h"
#include "src/recording/schema.h"

#define BUSY_MS		200	/* while the target is watched */

static int make_tables(sqlite3 *db)
{
	char pragma[100];
	int err = recording_db_run(db, "BEGIN");

	snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d;",
		 RECORDING_APPLICATION_ID, RECORDING_VERSION);
	if (err == 0)
		err = recording_db_run(db, pragma);
	if (err == 0)
		err = recording_db_run(db, RECORDING_TABLES);
	if (err == 0)
		err = recording_db_run(db, "COMMIT");
	if (err < 0)
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

static int is_log(void *context, struct row *row)
{
	const char *mode = (const char *)sqlite3_column_text(row->statement, 0);

	*(bool *)context = mode && strcmp(mode, "wal") == 0;
	return 0;
}

/*
 * After the tables: the file itself says what it is, even if its log is lost. That there is a log
 * is a change of its first page alone: without a journal, nobody who is killed leaves one.
 */
static int begin_log(sqlite3 *db)
{
	bool log = false;
	int err = recording_db_run(db, "PRAGMA journal_mode=MEMORY");

	if (err == 0)
		err = recording_db_query(db, "PRAGMA journal_mode=WAL", 0, is_log, &log);
	if (err == 0 && !log)
		err = recording_db_run(db, "PRAGMA journal_mode=DELETE");
	return err ? err : recording_db_run(db, "BEGIN IMMEDIATE; COMMIT");	/* its first use */
}

/*
 * alone: nobody can read it meanwhile, as on file systems whose files can't be mapped by several
 * processes, which the log of a shared one needs.
 */
static int open_tables(sqlite3 **db, const char *place, bool alone)
{
	/*
	 * Each page that it remembers comes from the heap, and goes back there (recording_rest),
	 * not from a block of 20 that stays. An error if SQLite was used before: no harm.
	 */
	(void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
	/* One thread has it: no locks around each call. */
	int err = recording_db_errno(NULL, sqlite3_open_v2(place, db, SQLITE_OPEN_READWRITE |
						    SQLITE_OPEN_CREATE |
						    SQLITE_OPEN_NOMUTEX, NULL));

	if (err < 0 && *db)
		err = recording_db_errno(*db, sqlite3_errcode(*db));
	if (err == 0)
		sqlite3_busy_timeout(*db, BUSY_MS);
	if (err == 0 && alone)
		err = recording_db_run(*db, "PRAGMA locking_mode=EXCLUSIVE");
	if (err == 0)
		err = recording_db_run(*db, "PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY");
	if (err == 0)
		err = make_tables(*db);
	return err ? err : begin_log(*db);
}

static int read_version(void *context, struct row *row)
{
	*(uint64_t *)context = row_uint(row);
	return 0;
}

int recording_open_again(sqlite3 *db)
{
	uint64_t version = 0;
	int err = recording_db_query(db, "PRAGMA user_version", 0, read_version, &version);

	if (err == 0 && version != RECORDING_VERSION)
		err = make_tables(db);
	return err ? err : begin_log(db);
}

int recording_open_new(const char *place, sqlite3 **ret)
{
	_cleanup_free_ char *same = NULL;
	int err = open_tables(ret, place, false);

	if (err == 0 || err == -ENOSPC || err == -EDQUOT || err == -ENOMEM)
		return err;
	sqlite3_close(*ret);
	*ret = NULL;
	return recording_place_clear(place, &same) < 0 ? err :
	       open_tables(ret, place, true) < 0 ? err : 0;
}

int recording_open_new_unnamed(const struct recording_unnamed *unnamed, sqlite3 **ret)
{
	int err = recording_unnamed_clear(unnamed);

	*ret = NULL;
	if (err == 0)
		err = recording_unnamed_open(unnamed, ret);
	if (err == 0)
		err = recording_db_run(*ret, "PRAGMA locking_mode=EXCLUSIVE; "
					     "PRAGMA journal_mode=TRUNCATE");
	return err ? err : make_tables(*ret);
}
