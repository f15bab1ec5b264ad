/* SPDX-License-Identifier: MIT */
/*
 * reallocs.c - see reallocs.h. What is not known is all less what is, and where sampled may be
 * below 0: each is an estimate. Written as that, so that a call is in one column and all add up.
 */
#include "src/recording/reallocs.h"

#include <errno.h>

#include "src/base/hashmap.h"

#define COLUMNS 13u
#define TABLE \
	"CREATE TABLE IF NOT EXISTS reallocs(site INTEGER PRIMARY KEY, grown INTEGER," \
	" shrunk INTEGER, same INTEGER, in_place_unknown INTEGER, moved INTEGER," \
	" moved_unknown INTEGER, failed INTEGER, from_null INTEGER, freed INTEGER," \
	" copied_bytes INTEGER, stack INTEGER, skip_frames INTEGER)"

static bool has_any(const struct snapshot_site *site)
{
	for (int i = 0; i < SITE_RESIZES; i++)
		if (site->resizes.count[i])
			return true;
	return false;
}

/* Of those in place whose size before is known. */
static uint64_t in_place_known(const struct site_resizes *resizes)
{
	return resizes->known[SITE_GROWN] + resizes->known[SITE_SHRUNK] +
	       resizes->known[SITE_SAME];
}

static int put_site(sqlite3_stmt *to, const struct snapshot_site *site)
{
	const struct site_resizes *r = &site->resizes;
	struct cell cell[COLUMNS] = {
		CELL_I(site->id), CELL_I(r->known[SITE_GROWN]), CELL_I(r->known[SITE_SHRUNK]),
		CELL_I(r->known[SITE_SAME]),
		CELL_I(r->count[SITE_IN_PLACE] - in_place_known(r)),
		CELL_I(r->known[SITE_COPIED]),
		CELL_I(r->count[SITE_MOVED] - r->known[SITE_COPIED]),
		CELL_I(r->count[SITE_RESIZE_FAILED]), CELL_I(r->count[SITE_FROM_NULL]),
		CELL_I(r->count[SITE_RESIZE_FREED]), CELL_I(r->copied_bytes),
		CELL_I(site->stack), CELL_I(site->skip_frames),
	};

	return recording_db_put(to, cell, COLUMNS);
}

int recording_reallocs_put(sqlite3 *db, const struct snapshot *snapshot, double since)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_run(db, TABLE);

	if (err == 0)
		err = recording_db_prepare(db, "reallocs", COLUMNS, &statement);
	for (size_t i = 0; err == 0 && i < snapshot->site_count + snapshot->tried_count; i++)
		if (snapshot->site[i].last_time >= since && has_any(&snapshot->site[i]))
			err = put_site(statement, &snapshot->site[i]);
	return err;
}

struct reading {
	struct snapshot *snapshot;
	const struct recording_names *names;
	struct hashmap by_site;		/* id -> index */
};

static void read_figures(struct row *row, struct site_resizes *to)
{
	to->known[SITE_GROWN] = row_uint(row);
	to->known[SITE_SHRUNK] = row_uint(row);
	to->known[SITE_SAME] = row_uint(row);
	to->count[SITE_IN_PLACE] = row_uint(row) + in_place_known(to);
	to->known[SITE_COPIED] = row_uint(row);
	to->count[SITE_MOVED] = row_uint(row) + to->known[SITE_COPIED];
	to->count[SITE_RESIZE_FAILED] = row_uint(row);
	to->count[SITE_FROM_NULL] = row_uint(row);
	to->count[SITE_RESIZE_FREED] = row_uint(row);
	to->copied_bytes = row_uint(row);
}

static int read_row(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	uint32_t id = row_uint32(row, UINT32_MAX);
	struct site_resizes *to;
	bool known;
	uint64_t at;

	known = hashmap_get(&reading->by_site, id, &at);
	if (!known) {
		at = snapshot->site_count + snapshot->tried_count;
		if (!RECORDING_GROW(snapshot->site, at))
			return -ENOMEM;
		snapshot->tried_count++;
		snapshot->site[at] = (struct snapshot_site){ .id = id, .size_low = UINT64_MAX };
	}
	to = &snapshot->site[at].resizes;
	read_figures(row, to);
	if (known)
		return 0;
	snapshot->site[at].stack = recording_names_stack(reading->names, row_uint(row));
	snapshot->site[at].skip_frames = (uint16_t)row_uint32(row, STACKS_MAX_FRAMES);
	snapshot->site[at].verdict = SNAPSHOT_FREED;
	return 0;
}

int recording_reallocs_read(sqlite3 *db, const struct recording_names *names,
			    struct snapshot *snapshot)
{
	struct reading reading = { .snapshot = snapshot, .names = names };
	int err = recording_db_has_table(db, "reallocs");

	if (err <= 0)
		return err;
	err = 0;
	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		err = hashmap_put(&reading.by_site, snapshot->site[i].id, i);
	if (err == 0)
		err = recording_db_query(db, "SELECT * FROM reallocs ORDER BY site", 0, read_row,
					 &reading);
	hashmap_done(&reading.by_site);
	snapshot->resizes = err == 0;
	return err;
}
