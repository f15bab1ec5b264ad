/* SPDX-License-Identifier: MIT */
/*
 * damage.c - see damage.h.
 *
 * SQLite names what it misses ("no such column: x"), but no table where pages are damaged: that
 * is taken from the statement that was at work. Its words may quote the file, which may be forged:
 * nothing is kept that a terminal would obey.
 */
#include "src/recording/damage.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/recording/bounds.h"
#include "src/report/printable.h"

#define MAX_NAME 40

static _Thread_local char cause[200];

void recording_damage_forget(void)
{
	cause[0] = '\0';
}

const char *recording_damage_cause(void)
{
	return cause;
}

int recording_damage(const char *table, const char *what)
{
	_cleanup_free_ char *words = table ? printable_copy(table, PRINTABLE_TEXT) : NULL;

	if (!cause[0] && words)
		(void)snprintf(cause, sizeof(cause), "table %.*s, %s", MAX_NAME, words, what);
	else if (!cause[0])
		(void)snprintf(cause, sizeof(cause), "%s", what);
	return -EBADMSG;
}

/* The first of our tables that a query is about; its length, 0: none. */
static int table_in(const char *sql, const char **ret)
{
	const char *from = sql ? strstr(sql, "FROM ") : NULL;
	int length = 0;

	if (!from)
		return 0;
	from += strlen("FROM ");
	while (isalnum((unsigned char)from[length]) || from[length] == '_')
		length++;
	*ret = from;
	return length < MAX_NAME ? length : 0;
}

/* The statement that failed is the last that was prepared, and still there. */
static int table_at_work(sqlite3 *db, const char **ret)
{
	sqlite3_stmt *statement = sqlite3_next_stmt(db, NULL);

	return statement ? table_in(sqlite3_sql(statement), ret) : 0;
}

void recording_damage_of(sqlite3 *db, const char *sql)
{
	const char *why = recording_bounds_exceeded() ?
		RECORDING_BOUNDS_WORDS : sqlite3_errmsg(db);
	_cleanup_free_ char *words = printable_copy(why, PRINTABLE_TEXT);
	const char *table = NULL;
	int length = sql ? table_in(sql, &table) : table_at_work(db, &table);

	if (cause[0])
		return;
	if (length)
		(void)snprintf(cause, sizeof(cause), "table %.*s: %s", length, table,
			       words ? words : "");
	else
		(void)snprintf(cause, sizeof(cause), "%s", words ? words : "");
}
