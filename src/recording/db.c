/* SPDX-License-Identifier: MIT */
/*
 * db.c - a thin layer over SQLite: errors as -errno, rows as arrays of cells.
 *
 * Unsigned 64-bit figures are stored as SQLite's signed ones, bit for bit: no
 * figure reaches 2^63 in practice, and one that does survives the round trip.
 */
#include "src/recording/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/recording/bounds.h"
#include "src/recording/damage.h"
#include "src/recording/recording.h"
#include "src/recording/schema.h"
#include "src/recording/undo.h"

int recording_db_errno(sqlite3 *db, int result)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		if (!db || !recording_bounds_memory())
			return -ENOMEM;
		recording_damage_of(db, NULL);
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return system ? -system : -EACCES;
	case SQLITE_IOERR:
		/* SQLite knows ENOSPC; quotas and limits are full disks too. See the callers. */
		if (errno == EDQUOT || errno == EFBIG)
			return -errno;
		return system ? -system : -EIO;
	default:	/* not a database, damaged, or not with our tables */
		if (db)
			recording_damage_of(db, NULL);
		return -EBADMSG;
	}
}

int recording_db_run(sqlite3 *db, const char *sql)
{
	errno = 0;
	return recording_db_errno(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int recording_db_prepare(sqlite3 *db, const char *table, unsigned int count, sqlite3_stmt **ret)
{
	char sql[256];
	size_t length = (size_t)snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES(",
					 table);

	for (unsigned int i = 0; i < count; i++)
		length += (size_t)snprintf(sql + length, sizeof(sql) - length, "%s?",
					   i ? "," : "");
	snprintf(sql + length, sizeof(sql) - length, ")");
	return recording_db_errno(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT,
							 ret, NULL));
}

static int cell_bind(sqlite3_stmt *statement, int at, const struct cell *cell)
{
	switch (cell->type) {
	case CELL_INTEGER:
		return sqlite3_bind_int64(statement, at, (sqlite3_int64)cell->as.integer);
	case CELL_REAL:
		return sqlite3_bind_double(statement, at, cell->as.real);
	default:
		/* NULL binds NULL. The row is written before the text can change. */
		return sqlite3_bind_text(statement, at, cell->as.text, -1, SQLITE_STATIC);
	}
}

int recording_db_put(sqlite3_stmt *statement, const struct cell *cell, unsigned int count)
{
	int result = SQLITE_OK;

	errno = 0;
	for (unsigned int i = 0; i < count && result == SQLITE_OK; i++)
		result = cell_bind(statement, (int)i + 1, &cell[i]);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	result = recording_db_errno(sqlite3_db_handle(statement), result);
	sqlite3_reset(statement);
	return result;
}

/* No value that we write comes near it; what a forged one could ask for does. */
#define MAX_VALUE_BYTES	(1 << 20)
#define MAX_SQL_BYTES	(1 << 16)	/* of a table's definition, too */
#define MAX_COLUMNS	100

#define READ_MS		2000	/* for a writer that folds its log in */

/* File systems that compress hold more than they take. */
#define HELD_MOST	16u
#define HELD_LEAST	(1u << 20)

int recording_db_path(const char *path, char **ret)
{
	if (!path[0])
		return -ENOENT;
	return asprintf(ret, "%s%s", path[0] == '/' ? "" : "./", path) < 0 ? -ENOMEM : 0;
}

/*
 * As SQLite wants files opened that it is not to trust, of so many bytes. Sorting stays in memory,
 * where it is bounded.
 */
static int distrust(sqlite3 *db, uint64_t bytes)
{
	recording_bounds_begin(db, bytes);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, MAX_COLUMNS);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, MAX_COLUMNS);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	return recording_db_run(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; "
				    "PRAGMA temp_store=MEMORY");
}

/* Of a file that may be mostly holes. 0: there is none. */
static uint64_t bytes_of(const char *path)
{
	struct stat file;
	uint64_t size, held;

	if (stat(path, &file) < 0)
		return 0;
	size = file.st_size > 0 ? (uint64_t)file.st_size : 0;
	held = (uint64_t)file.st_blocks * 512 * HELD_MOST + HELD_LEAST;
	return size < held ? size : held;
}

/* What its log has is part of it. */
static uint64_t bytes_with_log(const char *path)
{
	_cleanup_free_ char *log = NULL;
	uint64_t bytes = bytes_of(path);

	return asprintf(&log, "%s-wal", path) < 0 ? bytes : bytes + bytes_of(log);
}

static int open_any(const char *path, int flags, const char *vfs, sqlite3 **ret)
{
	int err = recording_db_errno(NULL, sqlite3_open_v2(path, ret, flags |
						     SQLITE_OPEN_NOMUTEX, vfs));

	recording_damage_forget();
	if (*ret)
		sqlite3_busy_timeout(*ret, READ_MS);
	return err;
}

static int open_file(const char *path, int flags, const char *vfs, sqlite3 **ret)
{
	int err = open_any(path, flags, vfs, ret);

	return err ? err : distrust(*ret, bytes_with_log(path));
}

/* What may be a recording: nothing whose opening waits for somebody, or that never ends. */
static int check_file(const char *path, int access_mode)
{
	struct stat file;

	if (access(path, access_mode) < 0 || stat(path, &file) < 0)
		return -errno;
	if (S_ISDIR(file.st_mode))
		return -EISDIR;
	if (!S_ISREG(file.st_mode))
		return recording_damage(NULL, "it is no regular file");
	return file.st_size > 0 ? 0 : -ENODATA;		/* it was begun, and no more */
}

/*
 * Its log needs a file beside it that others can map (FILE-shm), unless nobody else is there: with
 * no locks, and alone. Rejected: immutable=1, which leaves the log out, and that may be all.
 */
static int open_alone(const char *path, sqlite3 **ret)
{
	int err = open_file(path, SQLITE_OPEN_READONLY, "unix-none", ret);

	return err ? err : recording_db_run(*ret, "PRAGMA locking_mode=EXCLUSIVE; "
						  "PRAGMA schema_version");
}

int recording_db_open(const char *path, sqlite3 **ret)
{
	_cleanup_free_ char *plain = NULL;
	int err = recording_db_path(path, &plain);

	recording_damage_forget();
	if (err == 0)
		err = check_file(plain, R_OK);
	if (err < 0)
		return err;
	err = open_file(plain, SQLITE_OPEN_READONLY, NULL, ret);
	if (err == 0)
		err = recording_db_run(*ret, "PRAGMA schema_version");
	if (err == 0 || err == -EBADMSG || err == -ENOMEM || err == -EBUSY)
		return err;
	if (*ret && sqlite3_extended_errcode(*ret) == SQLITE_READONLY_ROLLBACK)
		return recording_undo_leaves_nothing(plain) ? -ENODATA : -EUCLEAN;
	sqlite3_close(*ret);
	*ret = NULL;
	return open_alone(plain, ret);
}

static int refuse(void *context, struct row *row)
{
	_cleanup_free_ char *name = row_text_or_empty(row);

	(void)context;
	return recording_damage(name, "a view, a trigger, virtual or with computed columns, as no "
				      "recording has");
}

static int check_application(void *context, struct row *row)
{
	(void)context;
	return row_uint(row) == RECORDING_APPLICATION_ID ? 0 :
	       recording_damage(NULL, "its application_id is that of another program");
}

static int check_version(void *context, struct row *row)
{
	uint64_t version = row_uint(row);

	(void)context;
	if (version > RECORDING_VERSION)
		return -EPROTONOSUPPORT;
	return version == RECORDING_VERSION ? 0 :
	       recording_damage(NULL, "its user_version is none of a recording");
}

int recording_db_check(sqlite3 *db)
{
	static const struct {
		const char *sql;
		int (*each)(void *context, struct row *row);
	} checks[] = {
		{ "PRAGMA application_id", check_application },
		{ "PRAGMA user_version", check_version },
		{ "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR "
		  "(type = 'table' AND rootpage = 0)", refuse },	/* or virtual */
		{ "SELECT m.name FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS x "
		  "WHERE m.type = 'table' AND x.hidden", refuse },	/* computed columns */
	};
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(checks); i++)
		err = recording_db_query(db, checks[i].sql, 0, checks[i].each, NULL);
	return err;
}

int recording_db_has_table(sqlite3 *db, const char *name)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int result = sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND "
					    "name = ?", -1, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	return result == SQLITE_ROW ? 1 : recording_db_errno(db, result);
}

int recording_db_select(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	int result = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

	if (result == SQLITE_ERROR)
		recording_damage_of(db, sql);
	return result;
}

int recording_db_query(sqlite3 *db, const char *sql, uint64_t id,
		       int (*each)(void *context, struct row *row), void *context)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err, result = recording_db_select(db, sql, &statement);

	if (result == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
		result = sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		err = each(context, &(struct row){ .statement = statement });
		if (err < 0)
			return err;
	}
	return recording_db_errno(db, result);
}

int recording_db_open_to_change(const char *path, sqlite3 **ret)
{
	_cleanup_free_ char *plain = NULL;
	int err = recording_db_path(path, &plain);

	if (err == 0)
		err = check_file(plain, R_OK | W_OK);
	return err ? err : open_file(plain, SQLITE_OPEN_READWRITE, NULL, ret);
}

int recording_db_open_in(const char *system, const char *name, uint64_t bytes, sqlite3 **ret)
{
	int err = open_any(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, system, ret);

	return err || bytes == 0 ? err : distrust(*ret, bytes);
}

void recording_db_close(sqlite3 **db)
{
	sqlite3_close(*db);
	*db = NULL;
	recording_bounds_lift();
}

static int count_row(void *context, struct row *row)
{
	int *count = context;

	(void)row;
	*count += 1;
	return 0;
}

int recording_db_columns(sqlite3 *db, const char *table)
{
	char sql[100];
	int count = 0, err;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM pragma_table_info('%s')", table);
	err = recording_db_query(db, sql, 0, count_row, &count);
	return err < 0 ? err : count;
}

void recording_db_done(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

uint64_t row_uint(struct row *row)
{
	return (uint64_t)sqlite3_column_int64(row->statement, row->next++);
}

uint32_t row_uint32(struct row *row, uint32_t limit)
{
	uint64_t value = row_uint(row);

	return value < limit ? (uint32_t)value : limit;
}

double row_real(struct row *row)
{
	return sqlite3_column_double(row->statement, row->next++);
}

bool row_bool(struct row *row)
{
	return row_uint(row) != 0;
}

char *row_text(struct row *row)
{
	const unsigned char *text = sqlite3_column_text(row->statement, row->next++);

	if (!text)
		return NULL;
	/* the query ends soon */
	return strdup(recording_bounds_take(strlen((const char *)text) + 1) ?
		      (const char *)text : "");
}

char *row_text_or_empty(struct row *row)
{
	char *text = row_text(row);

	return text ? text : strdup("");
}

void *recording_grow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? count * 2 : 1, size);
}
