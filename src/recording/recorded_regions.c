/* SPDX-License-Identifier: MIT */
/* recorded_regions.c - see recorded_regions.h. Reading takes no more rows than are ever written. */
#include "src/recording/recorded_regions.h"

#include <errno.h>

#include "src/recording/damage.h"

#define FACTS 4u
#define COLUMNS 14u
#define TABLES \
	"CREATE TABLE IF NOT EXISTS region_facts(pages_known INTEGER, huge_known INTEGER," \
	" rss_bytes INTEGER, left_out INTEGER); DELETE FROM region_facts;" \
	"CREATE TABLE IF NOT EXISTS regions(id INTEGER PRIMARY KEY, low INTEGER, high INTEGER," \
	" file_offset INTEGER, protection INTEGER, kind INTEGER, thread INTEGER," \
	" deleted INTEGER, path TEXT, size INTEGER, resident_bytes INTEGER, own_bytes INTEGER," \
	" swapped_bytes INTEGER, huge_bytes INTEGER); DELETE FROM regions;"

static int put_facts(sqlite3 *db, const struct regions *regions)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	const struct cell cell[FACTS] = {
		CELL_I(regions->pages_known), CELL_I(regions->huge_known),
		CELL_I(regions->rss_bytes), CELL_I(regions->left_out),
	};
	int err = recording_db_prepare(db, "region_facts", FACTS, &statement);

	return err ? err : recording_db_put(statement, cell, FACTS);
}

int recording_regions_put(sqlite3 *db, const struct regions *regions)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_run(db, TABLES);

	if (err == 0)
		err = put_facts(db, regions);
	if (err == 0)
		err = recording_db_prepare(db, "regions", COLUMNS, &statement);
	for (size_t i = 0; err == 0 && i < regions->count; i++) {
		const struct region *r = &regions->region[i];
		const struct cell cell[COLUMNS] = {
			CELL_I(i), CELL_I(r->start), CELL_I(r->end), CELL_I(r->offset),
			CELL_I(r->prot), CELL_I(r->kind), CELL_I(r->tid), CELL_I(r->deleted),
			CELL_T(r->path), CELL_I(r->sizes.size), CELL_I(r->sizes.resident),
			CELL_I(r->sizes.own), CELL_I(r->sizes.swapped), CELL_I(r->sizes.huge),
		};

		err = recording_db_put(statement, cell, COLUMNS);
	}
	return err;
}

static int read_facts(void *context, struct row *row)
{
	struct regions *regions = context;

	regions->pages_known = row_bool(row);
	regions->huge_known = row_bool(row);
	regions->rss_bytes = row_uint(row);
	regions->left_out = row_uint(row);
	return 0;
}

static int read_region(void *context, struct row *row)
{
	struct regions *regions = context;
	struct region r = { .start = row_uint(row) };

	if (regions->count > REGIONS_MAX)
		return 0;
	r.end = row_uint(row);
	r.offset = row_uint(row);
	r.prot = row_uint32(row, UINT32_MAX);
	r.kind = (enum region_kind)row_uint32(row, REGION_KINDS);
	r.tid = (int32_t)row_uint32(row, INT32_MAX);
	r.deleted = row_bool(row);
	r.path = row_text_or_empty(row);
	r.sizes.size = row_uint(row);
	r.sizes.resident = row_uint(row);
	r.sizes.own = row_uint(row);
	r.sizes.swapped = row_uint(row);
	r.sizes.huge = row_uint(row);
	if (!r.path || !RECORDING_GROW(regions->region, regions->count)) {
		free(r.path);
		return -ENOMEM;
	}
	if (r.kind == REGION_KINDS) {
		free(r.path);
		return recording_damage("regions", "column kind: there is none such");
	}
	regions->region[regions->count++] = r;
	return 0;
}

int recording_regions_read(sqlite3 *db, struct regions **ret)
{
	struct regions *regions;
	int err = recording_db_has_table(db, "regions");

	*ret = NULL;
	if (err <= 0)
		return err;
	regions = calloc(1, sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	err = recording_db_query(db, "SELECT * FROM region_facts LIMIT 1", 0, read_facts, regions);
	if (err == 0)
		err = recording_db_query(db, "SELECT low, high, file_offset, protection, kind, "
					 "thread, deleted, path, size, resident_bytes, own_bytes, "
					 "swapped_bytes, huge_bytes FROM regions ORDER BY id",
					 0, read_region, regions);
	if (err < 0)
		regions_free(regions);
	else
		*ret = regions;
	return err;
}
