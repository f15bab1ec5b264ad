/* SPDX-License-Identifier: MIT */
/*
 * levels.c - see levels.h.
 *
 * All of the table snapshot_sites is read into memory: the writer bounds it to some 100,000 rows,
 * and a file that holds more is as large as what it makes us keep. Times that go back or are no
 * numbers are moved forward: readers of exports divide by them.
 */
#include "src/recording/levels.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/base/array.h"
#include "src/base/hashmap.h"
#include "src/recording/bounds.h"
#include "src/recording/damage.h"
#include "src/recording/db.h"

struct reading {
	struct recording_levels *to;
	struct hashmap by_site, by_id;	/* ids of sites, of snapshots -> index */
	double last;
};

/* Room for one more in an array that grows by doubling at powers of two. */
static void *grow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? count * 2 : 1, size);
}

static int read_moment(void *context, struct row *row)
{
	struct reading *r = context;
	struct recording_levels_at *moment = grow(r->to->moment, r->to->count, sizeof(*moment));
	uint64_t id = row_uint(row);
	double time = row_real(row);

	if (!moment)
		return -ENOMEM;
	r->to->moment = moment;
	moment += r->to->count;
	*moment = (struct recording_levels_at){ .time = r->last };
	if (isfinite(time) && time > r->last)
		moment->time = r->last = time;
	moment->live_bytes = row_uint(row);
	moment->overhead_bytes = row_uint(row);
	moment->peak_live_bytes = row_uint(row);
	return hashmap_put(&r->by_id, id, r->to->count++);
}

/* Rows come by snapshot, those of one are neighbours. */
static int read_change(void *context, struct row *row)
{
	struct reading *r = context;
	struct recording_change *change = grow(r->to->change, r->to->change_count, sizeof(*change));
	uint64_t snapshot = row_uint(row), site = row_uint(row), at, index;
	struct recording_levels_at *moment;

	if (!change)
		return -ENOMEM;
	r->to->change = change;
	if (!hashmap_get(&r->by_id, snapshot, &at) || !hashmap_get(&r->by_site, site, &index))
		return 0;
	moment = &r->to->moment[at];
	if (moment->change_count++ == 0)
		moment->first_change = r->to->change_count;
	change += r->to->change_count++;
	change->site = (uint32_t)index;
	change->live_count = row_uint(row);
	change->live_bytes = row_uint(row);
	change->alloc_count = row_uint(row);
	change->alloc_bytes = row_uint(row);
	change->free_count = row_uint(row);
	return 0;
}

static int index_sites(const struct snapshot *snapshot, struct hashmap *by_site)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		err = hashmap_put(by_site, snapshot->site[i].id, i);
	return err;
}

int recording_levels_read(const struct recording_content *content, struct recording_levels *ret)
{
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	struct reading r = { .to = ret };
	int err = recording_db_open(content->path, &db);

	*ret = (struct recording_levels){ 0 };
	if (err == 0)	/* it may be another one by now */
		err = recording_db_check(db);
	if (err == 0)
		err = index_sites(content->snapshot, &r.by_site);
	if (err == 0)
		err = recording_db_query(db, "SELECT id, time, live_bytes, overhead_bytes, "
			"peak_live_bytes FROM snapshots WHERE id <= ?1 ORDER BY id",
			content->snapshot_id, read_moment, &r);
	if (err == 0)
		err = recording_db_has_table(db, "snapshot_sites");
	if (err > 0)
		err = recording_db_query(db, "SELECT snapshot, site, live_count, live_bytes, "
			"alloc_count, alloc_bytes, free_count FROM snapshot_sites "
			"WHERE snapshot <= ?1 ORDER BY snapshot, site", content->snapshot_id,
			read_change, &r);
	hashmap_done(&r.by_site);
	hashmap_done(&r.by_id);
	return err < 0 || !recording_bounds_exceeded() ? err :
	       recording_damage("snapshot_sites", RECORDING_BOUNDS_WORDS);
}

void recording_levels_done(struct recording_levels *moments)
{
	free(moments->moment);
	free(moments->change);
	*moments = (struct recording_levels){ 0 };
}

/* --- where modules were ------------------------------------------------------------ */

static int read_place(struct recording_places *to, struct row *row)
{
	struct recording_place *place = grow(to->place, to->count, sizeof(*place));

	if (!place)
		return -ENOMEM;
	to->place = place;
	place += to->count;
	*place = (struct recording_place){ .path = row_text(row), .build_id = row_text(row) };
	to->count++;
	place->low = row_uint(row);
	place->high = row_uint(row);
	place->bias = row_uint(row);
	place->text_address = row_uint(row);
	place->text_offset = row_uint(row);
	place->text_bytes = row_uint(row);
	return place->path && place->build_id ? 0 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	const struct recording_place *x = a, *y = b;

	return strcmp(x->path, y->path) ?: strcmp(x->build_id, y->build_id) ?:
	       (x->low > y->low) - (x->low < y->low);
}

int recording_places_read(const char *path, struct recording_places *ret)
{
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_open(path, &db), result;

	*ret = (struct recording_places){ 0 };
	if (err == 0)
		err = recording_db_check(db);
	if (err < 0)
		return err;
	/* Fails where there are no such columns. */
	result = sqlite3_prepare_v2(db, "SELECT ifnull(path, ''), ifnull(build_id, ''), low, high, "
					"bias, text_address, text_offset, text_bytes FROM modules "
					"WHERE low IS NOT NULL", -1, &statement, NULL);
	if (result != SQLITE_OK)
		return 0;
	while (err == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW)
		err = read_place(ret, &(struct row){ .statement = statement });
	if (ret->count)
		qsort(ret->place, ret->count, sizeof(*ret->place), by_name);
	if (err < 0 || recording_db_errno(db, result) < 0)
		return err < 0 ? err : -EBADMSG;
	return recording_bounds_exceeded() ?
	       recording_damage("modules", RECORDING_BOUNDS_WORDS) : 0;
}

const struct recording_place *recording_places_find(const struct recording_places *places,
						    const char *path, const char *build_id)
{
	size_t low = ARRAY_BISECT(places->count, i,
				  (strcmp(places->place[i].path, path) ?:
				   strcmp(places->place[i].build_id, build_id)) < 0);

	if (low == places->count || strcmp(places->place[low].path, path) != 0 ||
	    strcmp(places->place[low].build_id, build_id) != 0)
		return NULL;
	return &places->place[low];
}

void recording_places_done(struct recording_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->place[i].path);
		free(places->place[i].build_id);
	}
	free(places->place);
	*places = (struct recording_places){ 0 };
}
