/* SPDX-License-Identifier: MIT */
/*
 * counted.c - see counted.h.
 *
 * A row a snapshot, so that moments have their figures; rows of snapshots that were given up go
 * now and then. Steps of sizes are written once: they are many, and the sites have their sums.
 * Reading believes nothing: kinds that there are, steps of sites that there are.
 */
#include "src/recording/counted.h"

#include <errno.h>
#include <stdlib.h>

#include "src/recording/damage.h"

#define COLUMNS		13u
#define STEP_COLUMNS	5u
#define STEP_BYTES	40u	/* of a row of site_sizes, at the most or nearly so */
#define STEPS_MOST	65536u
#define TIDY_EACH	64u	/* snapshots */
#define TABLE \
	"CREATE TABLE IF NOT EXISTS counts(snapshot INTEGER PRIMARY KEY, kind INTEGER," \
	" alloc_usable INTEGER, alloc_unsized INTEGER, free_usable INTEGER," \
	" free_unsized INTEGER, by_caller_count INTEGER, by_caller_bytes INTEGER," \
	" sites_left_count INTEGER, sites_left_bytes INTEGER, sizes_left_count INTEGER," \
	" sizes_left_bytes INTEGER, shared_count INTEGER);"
#define STEP_TABLE \
	"CREATE TABLE IF NOT EXISTS site_sizes(site INTEGER, low INTEGER, high INTEGER," \
	" count INTEGER, bytes INTEGER, PRIMARY KEY(site, low)) WITHOUT ROWID;" \
	"DELETE FROM site_sizes;"
#define REST(rest) CELL_I((rest).count), CELL_I((rest).bytes)

static int put_steps(sqlite3 *db, uint64_t limit, const struct snapshot *snapshot)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	size_t count = snapshot->step_count < STEPS_MOST ? snapshot->step_count : STEPS_MOST;
	int err;

	if (count == 0 || (limit && count * STEP_BYTES > limit / 8))
		return 0;
	err = recording_db_run(db, STEP_TABLE);
	if (err == 0)
		err = recording_db_prepare(db, "site_sizes", STEP_COLUMNS, &statement);
	for (size_t i = 0; err == 0 && i < count; i++) {
		const struct snapshot_step *step = &snapshot->step[i];
		const struct cell cell[STEP_COLUMNS] = {
			CELL_I(step->site), CELL_I(step->low), CELL_I(step->high),
			CELL_I(step->count), CELL_I(step->bytes),
		};

		err = recording_db_put(statement, cell, STEP_COLUMNS);
	}
	return err;
}

int recording_counted_put(sqlite3 *db, uint64_t id, uint64_t limit,
			  const struct snapshot *snapshot)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	const struct snapshot_counts *c = &snapshot->counts;
	const struct cell cell[COLUMNS] = {
		CELL_I(id), CELL_I(c->kind), CELL_I(c->alloc_usable), CELL_I(c->alloc_unsized),
		CELL_I(c->free_usable), CELL_I(c->free_unsized), REST(c->by_caller),
		REST(c->paths_left), REST(c->sizes_left), CELL_I(c->shared_count),
	};
	int err;

	if (snapshot->session.mode != SNAPSHOT_COUNTS)
		return 0;
	err = recording_db_run(db, TABLE);
	if (err == 0)
		err = recording_db_prepare(db, "counts", COLUMNS, &statement);
	if (err == 0)
		err = recording_db_put(statement, cell, COLUMNS);
	if (err == 0 && id % TIDY_EACH == 0)
		err = recording_db_run(db, "DELETE FROM counts WHERE snapshot NOT IN "
					   "(SELECT id FROM snapshots)");
	if (err == 0 && snapshot->session.detached != SNAPSHOT_ATTACHED)
		err = put_steps(db, limit, snapshot);
	return err;
}

static struct counts_rest row_rest(struct row *row)
{
	uint64_t count = row_uint(row);

	return (struct counts_rest){ count, row_uint(row) };
}

/* The same for all of a session: also of a moment before its first figures. */
static int read_kind(void *context, struct row *row)
{
	((struct snapshot *)context)->counts.kind = row_uint32(row, COUNTS_SITES);
	return 0;
}

static int read_figures(void *context, struct row *row)
{
	struct snapshot_counts *c = &((struct snapshot *)context)->counts;

	row->next++;	/* the snapshot */
	c->kind = row_uint32(row, COUNTS_SITES);
	c->alloc_usable = row_uint(row);
	c->alloc_unsized = row_uint(row);
	c->free_usable = row_uint(row);
	c->free_unsized = row_uint(row);
	c->by_caller = row_rest(row);
	c->paths_left = row_rest(row);
	c->sizes_left = row_rest(row);
	c->shared_count = row_uint(row);
	return 0;
}

static int read_step(void *context, struct row *row)
{
	struct snapshot *snapshot = context;
	struct snapshot_step *step;

	if (snapshot->step_count == STEPS_MOST)
		return recording_damage("site_sizes", "which has too many rows");
	if (!RECORDING_GROW(snapshot->step, snapshot->step_count))
		return -ENOMEM;
	step = &snapshot->step[snapshot->step_count++];
	step->site = row_uint32(row, UINT32_MAX);
	step->low = row_uint(row);
	step->high = row_uint(row);
	step->count = row_uint(row);
	step->bytes = row_uint(row);
	return 0;
}

/* A table of ours has as many columns, at least. */
static int check_columns(sqlite3 *db, const char *table, unsigned int columns)
{
	int count = recording_db_columns(db, table);

	if (count <= 0)
		return count;
	return count < (int)columns ? recording_damage(table, "which has too few columns") : 1;
}

int recording_counted_read(sqlite3 *db, uint64_t id, bool is_end, struct snapshot *snapshot)
{
	int err = 0;

	if (snapshot->session.mode != SNAPSHOT_COUNTS)
		return 0;
	snapshot_order_sites(snapshot);
	snapshot->every_alloc = snapshot->site_peaks = snapshot->resizes = false;
	snapshot->intervals = snapshot->site_intervals = false;
	snapshot->counts.kind = COUNTS_TOTALS;	/* of moments without figures */
	err = check_columns(db, "counts", COLUMNS);
	if (err <= 0)
		return err;
	err = recording_db_query(db, "SELECT kind FROM counts LIMIT 1", 0, read_kind, snapshot);
	if (err == 0)
		err = recording_db_query(db, "SELECT * FROM counts WHERE snapshot = ?1", id,
					 read_figures, snapshot);
	if (err == 0 && is_end)
		err = check_columns(db, "site_sizes", STEP_COLUMNS);
	if (err > 0)
		err = recording_db_query(db, "SELECT site, low, high, count, bytes FROM site_sizes "
					     "ORDER BY site, low", 0, read_step, snapshot);
	return err;
}
