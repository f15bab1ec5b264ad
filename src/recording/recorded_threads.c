/* SPDX-License-Identifier: MIT */
/* recorded_threads.c - see recorded_threads.h. Reading takes no more rows than are ever written. */
#include "src/recording/recorded_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLES \
	"CREATE TABLE IF NOT EXISTS threads(number INTEGER PRIMARY KEY, tid INTEGER, name TEXT," \
	" ids INTEGER, alloc_count INTEGER, alloc_bytes INTEGER, free_count INTEGER," \
	" free_bytes INTEGER, freed_others INTEGER, freed_others_bytes INTEGER," \
	" live_count INTEGER, live_bytes INTEGER, first_time REAL, last_time REAL);" \
	"CREATE TABLE IF NOT EXISTS thread_sites(site INTEGER, thread INTEGER," \
	" alloc_count INTEGER, alloc_bytes INTEGER, free_count INTEGER, live_count INTEGER," \
	" live_bytes INTEGER, temporary_count INTEGER, PRIMARY KEY(site, thread)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS thread_frees(owner INTEGER, freer INTEGER, count INTEGER," \
	" bytes INTEGER, PRIMARY KEY(owner, freer)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS thread_total(threads INTEGER);" \
	"DELETE FROM threads; DELETE FROM thread_sites; DELETE FROM thread_frees;" \
	"DELETE FROM thread_total;"

#define NO_TABLES \
	"DROP TABLE IF EXISTS threads; DROP TABLE IF EXISTS thread_sites;" \
	"DROP TABLE IF EXISTS thread_frees; DROP TABLE IF EXISTS thread_total;"

#define ROW_COLUMNS		14u
#define PART_COLUMNS		8u
#define HANDOVER_COLUMNS	4u

/* Sites' parts of threads that are not told apart come on top: at the most one a site. */
#define MAX_PARTS		(1u << 20)

static int put_row(sqlite3_stmt *to, const struct thread_row *r)
{
	const struct cell cell[ROW_COLUMNS] = {
		CELL_I(r->number), CELL_I(r->id.tid), CELL_T(r->id.name), CELL_I(r->id.ids),
		CELL_I(r->alloc_count), CELL_I(r->alloc_bytes), CELL_I(r->free_count),
		CELL_I(r->free_bytes), CELL_I(r->freed_others), CELL_I(r->freed_others_bytes),
		CELL_I(r->live_count), CELL_I(r->live_bytes), CELL_R(r->first), CELL_R(r->last),
	};

	return recording_db_put(to, cell, ROW_COLUMNS);
}

static int put_rows(sqlite3 *db, const struct thread_table *table)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_prepare(db, "threads", ROW_COLUMNS, &statement);

	for (size_t i = 0; err == 0 && i < table->row_count; i++)
		err = put_row(statement, &table->row[i]);
	return err;
}

static int put_parts(sqlite3 *db, const struct thread_table *table)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_prepare(db, "thread_sites", PART_COLUMNS, &statement);

	for (size_t i = 0; err == 0 && i < table->part_count; i++) {
		const struct thread_part *p = &table->part[i];
		const struct cell cell[PART_COLUMNS] = {
			CELL_I(p->site), CELL_I(p->thread), CELL_I(p->alloc_count),
			CELL_I(p->alloc_bytes), CELL_I(p->free_count), CELL_I(p->live_count),
			CELL_I(p->live_bytes), CELL_I(p->temporary_count),
		};

		err = recording_db_put(statement, cell, PART_COLUMNS);
	}
	return err;
}

static int put_handovers(sqlite3 *db, const struct thread_table *table)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_prepare(db, "thread_frees", HANDOVER_COLUMNS, &statement);

	for (size_t i = 0; err == 0 && i < table->handover_count; i++) {
		const struct thread_handover *h = &table->handover[i];
		const struct cell cell[HANDOVER_COLUMNS] = { CELL_I(h->owner), CELL_I(h->freer),
							     CELL_I(h->count), CELL_I(h->bytes) };

		err = recording_db_put(statement, cell, HANDOVER_COLUMNS);
	}
	return err;
}

static int put_total(sqlite3 *db, const struct thread_table *table)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	const struct cell cell[1] = { CELL_I(table->total) };
	int err = recording_db_prepare(db, "thread_total", 1, &statement);

	return err < 0 ? err : recording_db_put(statement, cell, 1);
}

/* Rows as they were seen in recordings of servers, with the tables' own. */
uint64_t recording_threads_bytes(const struct thread_table *table)
{
	return 90u * table->row_count + 40u * table->part_count + 24u * table->handover_count;
}

int recording_threads_put(sqlite3 *db, const struct thread_table *table)
{
	int err = recording_db_run(db, table ? TABLES : NO_TABLES);

	if (!table)
		return err;
	if (err == 0)
		err = put_rows(db, table);
	if (err == 0)
		err = put_parts(db, table);
	if (err == 0)
		err = put_handovers(db, table);
	return err < 0 ? err : put_total(db, table);
}

static int read_total(void *context, struct row *row)
{
	struct thread_table *table = context;

	table->total = row_uint32(row, UINT32_MAX);
	return 0;
}

static int read_row(void *context, struct row *row)
{
	struct thread_table *table = context;
	_cleanup_free_ char *name = NULL;
	struct thread_row *r;

	if (!RECORDING_GROW(table->row, table->row_count))
		return -ENOMEM;
	r = &table->row[table->row_count++];
	*r = (struct thread_row){ .number = row_uint32(row, UINT32_MAX) };
	r->id.tid = row_uint32(row, INT32_MAX);
	name = row_text_or_empty(row);
	if (!name)
		return -ENOMEM;
	strncpy(r->id.name, name, sizeof(r->id.name) - 1);
	r->id.ids = row_uint32(row, UINT32_MAX);
	r->alloc_count = row_uint(row);
	r->alloc_bytes = row_uint(row);
	r->free_count = row_uint(row);
	r->free_bytes = row_uint(row);
	r->freed_others = row_uint(row);
	r->freed_others_bytes = row_uint(row);
	r->live_count = row_uint(row);
	r->live_bytes = row_uint(row);
	r->first = row_real(row);
	r->last = row_real(row);
	return 0;
}

static int read_part(void *context, struct row *row)
{
	struct thread_table *table = context;
	struct thread_part *p;

	if (!RECORDING_GROW(table->part, table->part_count))
		return -ENOMEM;
	p = &table->part[table->part_count++];
	p->site = row_uint32(row, UINT32_MAX);
	p->thread = row_uint32(row, UINT32_MAX);
	p->alloc_count = row_uint(row);
	p->alloc_bytes = row_uint(row);
	p->free_count = row_uint(row);
	p->live_count = row_uint(row);
	p->live_bytes = row_uint(row);
	p->temporary_count = row_uint(row);
	return 0;
}

static int read_handover(void *context, struct row *row)
{
	struct thread_table *table = context;
	struct thread_handover *h;

	if (!RECORDING_GROW(table->handover, table->handover_count))
		return -ENOMEM;
	h = &table->handover[table->handover_count++];
	h->owner = row_uint32(row, UINT32_MAX);
	h->freer = row_uint32(row, UINT32_MAX);
	h->count = row_uint(row);
	h->bytes = row_uint(row);
	return 0;
}

/* ?1 is the most rows that are taken. */
static const struct {
	const char *sql;
	uint64_t most;
	int (*each)(void *context, struct row *row);
} queries[] = {
	{ "SELECT * FROM thread_total LIMIT ?1", 1, read_total },
	{ "SELECT * FROM threads ORDER BY alloc_bytes DESC, free_bytes DESC, number LIMIT ?1",
	  THREAD_TABLE_ROWS, read_row },
	{ "SELECT * FROM thread_sites ORDER BY site, thread LIMIT ?1", MAX_PARTS, read_part },
	{ "SELECT * FROM thread_frees ORDER BY owner = 0, bytes DESC, owner, freer LIMIT ?1",
	  THREAD_TABLE_HANDOVERS, read_handover },
};

int recording_threads_read(sqlite3 *db, struct thread_table **ret)
{
	struct thread_table *table;
	int err = recording_db_has_table(db, "threads");

	*ret = NULL;
	if (err <= 0)
		return err;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	err = 0;
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(queries); i++)
		err = recording_db_query(db, queries[i].sql, queries[i].most, queries[i].each,
					 table);
	if (err < 0)
		thread_table_free(table);
	else
		*ret = table;
	return err;
}
