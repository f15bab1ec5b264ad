/* SPDX-License-Identifier: MIT */
/*
 * recorded_wrong_frees.c - see recorded_wrong_frees.h.
 *
 * A row each, with the ids of its three stacks (0: not seen). The table is made by the first
 * snapshot of an exact session and is empty as long as nothing was freed wrongly, which is
 * not the same as a recording without it. Reading believes nothing: as many rows as a
 * session can have, reasons and stacks that exist.
 */
#include "src/recording/recorded_wrong_frees.h"

#include <errno.h>
#include <stdio.h>

#include "src/recording/damage.h"

#define COLUMNS 21u
#define TABLE \
	"CREATE TABLE IF NOT EXISTS wrong_frees(id INTEGER PRIMARY KEY, reason INTEGER," \
	" call TEXT, realloc INTEGER, count INTEGER, address INTEGER, block_address INTEGER," \
	" block_size INTEGER, left_out INTEGER, freed_stack INTEGER, freed_skip INTEGER," \
	" freed_thread INTEGER, freed_time REAL, first_stack INTEGER, first_skip INTEGER," \
	" first_thread INTEGER, first_time REAL, allocated_stack INTEGER," \
	" allocated_skip INTEGER, allocated_thread INTEGER, allocated_time REAL);" \
	"DELETE FROM wrong_frees;"
#define OLDER_COLUMNS 7u
#define OLDER_TABLE \
	"CREATE TABLE IF NOT EXISTS older_blocks(id INTEGER PRIMARY KEY, judged INTEGER," \
	" why TEXT, count INTEGER, bytes INTEGER, memory_bytes INTEGER, pause_us INTEGER);"
#define CALL(call) \
	CELL_I((call).stack), CELL_I((call).skip_frames), CELL_I((call).thread), \
	CELL_R((call).time)

/* What was known of the blocks from before the attach: one row, if it was asked for. */
static int put_older(sqlite3 *db, const struct snapshot_older *older)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	const struct cell cell[OLDER_COLUMNS] = {
		CELL_I(1), CELL_I(older->judged), CELL_T(older->why), CELL_I(older->count),
		CELL_I(older->bytes), CELL_I(older->memory_bytes), CELL_I(older->pause_us),
	};
	int err;

	if (!older->asked)
		return 0;
	err = recording_db_run(db, OLDER_TABLE);
	if (err == 0)
		err = recording_db_prepare(db, "older_blocks", OLDER_COLUMNS, &statement);
	return err ? err : recording_db_put(statement, cell, OLDER_COLUMNS);
}

int recording_wrong_frees_put(sqlite3 *db, const struct snapshot *snapshot)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = 0;

	if (!snapshot->exact || !snapshot->wrong_free)
		return 0;
	err = recording_db_run(db, TABLE);
	if (err == 0)
		err = recording_db_prepare(db, "wrong_frees", COLUMNS, &statement);
	for (size_t i = 0; err == 0 && i < snapshot->wrong_free_count; i++) {
		const struct snapshot_wrong_free *w = &snapshot->wrong_free[i];
		const struct cell cell[COLUMNS] = {
			CELL_I(i), CELL_I(w->reason), CELL_T(w->call), CELL_I(w->realloc),
			CELL_I(w->count), CELL_I(w->address), CELL_I(w->block_address),
			CELL_I(w->block_size), CELL_I(snapshot->wrong_free_left_out),
			CALL(w->freed), CALL(w->freed_first), CALL(w->allocated),
		};

		err = recording_db_put(statement, cell, COLUMNS);
	}
	return err ? err : put_older(db, &snapshot->session.older);
}

static struct snapshot_call read_call(struct row *row, const struct recording_names *names)
{
	struct snapshot_call call = {
		.stack = recording_names_stack(names, row_uint32(row, UINT32_MAX)),
	};

	call.skip_frames = (uint16_t)row_uint32(row, UINT16_MAX);
	call.thread = row_uint32(row, UINT32_MAX);
	call.time = row_real(row);
	return call;
}

static void read_row(struct row *row, const struct recording_names *names,
		     struct snapshot *snapshot)
{
	struct snapshot_wrong_free *w = &snapshot->wrong_free[snapshot->wrong_free_count++];
	_cleanup_free_ char *call = NULL;

	row->next++;	/* the id */
	w->reason = (enum wrong_free_reason)row_uint32(row, WRONG_FREE_FREE);
	call = row_text(row);
	(void)snprintf(w->call, sizeof(w->call), "%s", call ? call : "");
	w->realloc = row_bool(row);
	w->count = row_uint(row);
	w->address = row_uint(row);
	w->block_address = row_uint(row);
	w->block_size = row_uint(row);
	snapshot->wrong_free_left_out = row_uint(row);
	w->freed = read_call(row, names);
	w->freed_first = read_call(row, names);
	w->allocated = read_call(row, names);
}

static int read_older(sqlite3 *db, struct snapshot_older *older)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	struct row row = { .next = 1 };
	_cleanup_free_ char *why = NULL;
	int result = recording_db_has_table(db, "older_blocks");

	if (result <= 0)
		return result;
	result = recording_db_select(db, "SELECT * FROM older_blocks", &statement);
	if (result == SQLITE_OK && sqlite3_column_count(statement) < (int)OLDER_COLUMNS)
		return recording_damage("older_blocks", "which has too few columns");
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result != SQLITE_ROW)
		return recording_db_errno(db, result);
	row.statement = statement;
	older->asked = true;
	older->judged = row_bool(&row);
	why = row_text(&row);
	(void)snprintf(older->why, sizeof(older->why), "%s", why ? why : "");
	older->count = row_uint(&row);
	older->bytes = row_uint(&row);
	older->memory_bytes = row_uint(&row);
	older->pause_us = row_uint(&row);
	return 0;
}

int recording_wrong_frees_read(sqlite3 *db, const struct recording_names *names,
			       struct snapshot *snapshot)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int result = recording_db_has_table(db, "wrong_frees");

	if (result > 0)
		result = read_older(db, &snapshot->session.older) ?: 1;
	if (result <= 0)
		return result;
	snapshot->wrong_free = calloc(WRONG_FREES_MAX, sizeof(*snapshot->wrong_free));
	if (!snapshot->wrong_free)
		return -ENOMEM;
	result = recording_db_select(db, "SELECT * FROM wrong_frees ORDER BY id", &statement);
	if (result == SQLITE_OK && sqlite3_column_count(statement) < (int)COLUMNS)
		return recording_damage("wrong_frees", "which has too few columns");
	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW || snapshot->wrong_free_count == WRONG_FREES_MAX)
			break;
		read_row(&(struct row){ .statement = statement }, names, snapshot);
	}
	return result == SQLITE_ROW ? 0 : recording_db_errno(db, result);
}
