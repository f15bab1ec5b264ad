/* SPDX-License-Identifier: MIT */
/* db.h - rows in, rows out: what the writer and the reader of recordings share. */
#ifndef MEMATTACH_RECORDING_DB_H
#define MEMATTACH_RECORDING_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* One value of a row to be written. */
struct cell {
	enum { CELL_INTEGER, CELL_REAL, CELL_TEXT } type;
	union {
		uint64_t integer;	/* stored as a signed 64-bit number */
		double real;
		const char *text;	/* NULL is stored as NULL */
	} as;
};
#define CELL_I(value) { CELL_INTEGER, { .integer = (uint64_t)(value) } }
/* The number, or NULL. */
#define CELL_I_IF(value, known) \
	((known) ? (struct cell)CELL_I(value) : (struct cell)CELL_T(NULL))
#define CELL_R(value) { CELL_REAL, { .real = (value) } }
#define CELL_T(value) { CELL_TEXT, { .text = (value) } }

/* What SQLite's last result means: 0, -ENOSPC, -EACCES, -EBADMSG, -ENOMEM, -EIO, ... */
int recording_db_errno(sqlite3 *db, int result);
/* Runs sql, which returns nothing. 0 or -errno. */
int recording_db_run(sqlite3 *db, const char *sql) _must_check_;
/* Prepares "INSERT OR REPLACE INTO table VALUES(?, ...)" with count places. 0 or -errno. */
int recording_db_prepare(sqlite3 *db, const char *table, unsigned int count,
			 sqlite3_stmt **ret) _must_check_;
/* Writes one row through such a statement. 0 or -errno. */
int recording_db_put(sqlite3_stmt *statement, const struct cell *cell, unsigned int count)
	_must_check_;

/* path as SQLite is to be given it, which sees more than files in ":memory:" and "file:x?y". */
int recording_db_path(const char *path, char **ret) _must_check_;
/*
 * Opens a recording that may come from anywhere, read-only and with limits. In a folder where
 * SQLite may not make its files, as if nobody else was there. 0; -ENODATA nothing was recorded yet;
 * -EUCLEAN somebody was killed who changed it, see undo.h; -errno. *ret is to be closed in
 * any case.
 */
int recording_db_open(const char *path, sqlite3 **ret) _must_check_;
/* What one of these opened, NULL too: its limits are no more those of other databases. */
void recording_db_close(sqlite3 **db);
/* The same to be changed: it may be forged, but is to be there. */
int recording_db_open_to_change(const char *path, sqlite3 **ret) _must_check_;
/*
 * The same of name in the file system (sqlite3_vfs) that is called so, where it has so many bytes;
 * 0: it is to be written by us, without limits.
 */
int recording_db_open_in(const char *system, const char *name, uint64_t bytes, sqlite3 **ret)
	_must_check_;
/*
 * Is it a recording, and one in which nothing runs by itself? 0, -EBADMSG no, -EPROTONOSUPPORT made
 * by a newer memattach, -ENOMEM.
 */
int recording_db_check(sqlite3 *db) _must_check_;
/* 1, 0 or -errno. */
int recording_db_has_table(sqlite3 *db, const char *name);

/* A query whose columns are taken from left to right. */
struct row {
	sqlite3_stmt *statement;
	int next;
};
/* Prepares sql, which reads. What SQLite says; that a table is not as it should be is kept. */
int recording_db_select(sqlite3 *db, const char *sql, sqlite3_stmt **ret) _must_check_;
/*
 * Calls each() for every row of sql, in which ?1 is id; its first error ends it. 0, that error,
 * -EBADMSG the table is not ours or is damaged, -ENOMEM.
 */
int recording_db_query(sqlite3 *db, const char *sql, uint64_t id,
		       int (*each)(void *context, struct row *row), void *context) _must_check_;
/* How many columns the table has; 0: there is none. -errno. */
int recording_db_columns(sqlite3 *db, const char *table);
void recording_db_done(sqlite3_stmt **statement);
uint64_t row_uint(struct row *row);
/* At most limit; what is larger, or negative, becomes limit. */
uint32_t row_uint32(struct row *row, uint32_t limit);
double row_real(struct row *row);
bool row_bool(struct row *row);
/* A copy to be freed; NULL for NULL, and when out of memory. */
char *row_text(struct row *row);
/* The same, "" for NULL. */
char *row_text_or_empty(struct row *row);

/* Room for one more in an array that grows by doubling at powers of two; see RECORDING_GROW. */
void *recording_grow(void *array, size_t count, size_t size) _must_check_;
/* False: out of memory, array is as it was. */
#define RECORDING_GROW(array, count) ({ \
	void *grown_ = recording_grow(array, count, sizeof(*(array))); \
	if (grown_) \
		(array) = grown_; \
	grown_ != NULL; \
})

#endif
