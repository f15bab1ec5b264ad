/* SPDX-License-Identifier: MIT */
/*
 * series.c - see series.h.
 *
 * A row says how a site stood at the end of an interval, and is written if that differs from
 * the row before. Rows are levels, not differences: a snapshot that is given up leaves its rows
 * to the next one, where that has none of the same site, and no level is wrong by it.
 * One snapshot is given up for each that comes, never half of them at once: the writer runs
 * between two looks at the rings. It is the one whose neighbours are nearest to each other
 * for its age, so that old ones get coarser first and the beginning stays.
 * What was given up are the rows here; the totals of all snapshots stay.
 * A site that was evicted (docs/MEMORY.md) has a last row of zeros, and zeros for its end: from
 * then on what it had is at "other", and before that its rows are what they were.
 */
#include "src/recording/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/base/hashmap.h"

#define GIVE_UP_MOST	4u	/* snapshots, for each that comes */
#define FIGURES		5u	/* that make a row; the others follow from them */

struct figures {
	uint64_t value[FIGURES];
};
/* What was written last of a site, and when it was there last. */
struct written {
	struct figures figures;
	uint32_t site, round;
};
struct kept {
	uint64_t id;
	double time;
	uint64_t live;		/* bytes, of all */
	bool asked_for;		/* by the user, who will look for it */
};
struct recording_series {
	sqlite3 *db;
	sqlite3_stmt *put, *move, *drop, *drop_totals, *zero;
	struct written *written;
	uint32_t written_count, written_capacity, round;
	struct hashmap written_index;	/* site -> index */
	uint64_t evicted;		/* sites, by the last snapshot */
	struct kept kept[RECORDING_SERIES_MOST + 1];
	size_t kept_count;
	uint64_t rows;
};

static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	return recording_db_errno(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT,
							 ret, NULL));
}

int recording_series_new(sqlite3 *db, struct recording_series **ret)
{
	struct recording_series *series = calloc(1, sizeof(*series));
	int err = series ? 0 : -ENOMEM;

	if (err == 0)
		series->db = db;
	if (err == 0)
		err = recording_db_prepare(db, "snapshot_sites", RECORDING_SERIES_COLUMNS,
					   &series->put);
	if (err == 0)
		err = prepare(db, "UPDATE OR IGNORE snapshot_sites SET snapshot = ?2 "
				  "WHERE snapshot = ?1", &series->move);
	if (err == 0)
		err = prepare(db, "DELETE FROM snapshot_sites WHERE snapshot = ?1", &series->drop);
	if (err == 0)
		err = prepare(db, "DELETE FROM snapshots WHERE id > ?1 AND id < ?2",
			      &series->drop_totals);
	if (err == 0)
		err = prepare(db, "UPDATE sites SET live_count = 0, live_bytes = 0, "
				  "live_bytes_low = 0, live_bytes_high = 0, alloc_count = 0, "
				  "alloc_bytes = 0, free_count = 0, peak_live_bytes = 0, "
				  "temporary_count = 0, samples = 0, at_peak_bytes = 0, "
				  "at_peak_count = 0 WHERE id = ?1", &series->zero);
	if (err < 0)
		recording_series_free(series);
	else
		*ret = series;
	return err;
}

void recording_series_free(struct recording_series *series)
{
	if (!series)
		return;
	recording_db_done(&series->put);
	recording_db_done(&series->move);
	recording_db_done(&series->drop);
	recording_db_done(&series->drop_totals);
	recording_db_done(&series->zero);
	hashmap_done(&series->written_index);
	free(series->written);
	free(series);
}

/* What was written of site; a new one has zeros. NULL: out of memory. Valid until the next. */
static struct written *written_of(struct recording_series *series, uint32_t site)
{
	uint32_t capacity = series->written_capacity ? series->written_capacity * 2u : 64u;
	struct written *grown = series->written;
	uint64_t at;

	if (hashmap_get(&series->written_index, site, &at))
		return &series->written[at];
	if (series->written_count == series->written_capacity) {
		grown = reallocarray(grown, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		series->written = grown;
		series->written_capacity = capacity;
	}
	if (hashmap_put(&series->written_index, site, series->written_count) < 0)
		return NULL;
	series->written[series->written_count] = (struct written){ .site = site };
	return &series->written[series->written_count++];
}

static void forget_written(struct recording_series *series, uint32_t at)
{
	const struct written *last = &series->written[--series->written_count];

	hashmap_remove(&series->written_index, series->written[at].site, NULL);
	if (at == series->written_count)
		return;
	series->written[at] = *last;
	/* it was there: no room is needed for it */
	if (hashmap_put(&series->written_index, last->site, at) < 0)
		return;
}

static uint64_t apart(uint64_t high, uint64_t low)
{
	return high > low ? high - low : 0;	/* rounding */
}

static int put_site(struct recording_series *series, uint64_t id, const struct snapshot_site *s)
{
	const struct figures now = { { s->live_count, s->live_bytes, s->alloc_count,
				       s->alloc_bytes, s->free_count } };
	const struct cell cell[] = {
		CELL_I(id), CELL_I(s->id), CELL_I(s->live_count), CELL_I(s->live_bytes),
		CELL_I(s->alloc_count), CELL_I(s->alloc_bytes), CELL_I(s->free_count),
		CELL_I(apart(s->live_bytes, s->live_bytes_low)),
		CELL_I(apart(s->live_bytes_high, s->live_bytes)),
		CELL_I(s->peak_live_bytes), CELL_I(s->temporary_count),
	};
	struct written *written = written_of(series, s->id);

	if (!written)
		return -ENOMEM;
	written->round = series->round;
	if (memcmp(&written->figures, &now, sizeof(now)) == 0)
		return 0;
	written->figures = now;
	series->rows++;
	return recording_db_put(series->put, cell, ARRAY_SIZE(cell));
}

/* Runs a statement about snapshot id; the number of rows that it changed. */
static int run_for(struct recording_series *series, sqlite3_stmt *statement, uint64_t id,
		   uint64_t other)
{
	int result = sqlite3_bind_int64(statement, 1, (sqlite3_int64)id), err;

	errno = 0;
	if (result == SQLITE_OK && statement != series->drop && statement != series->zero)
		result = sqlite3_bind_int64(statement, 2, (sqlite3_int64)other);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	err = recording_db_errno(series->db, result);
	sqlite3_reset(statement);
	return err < 0 ? err : sqlite3_changes(series->db);
}

static size_t highest(const struct recording_series *series)
{
	size_t ret = 0;

	for (size_t i = 1; i < series->kept_count; i++)
		if (series->kept[i].live > series->kept[ret].live)
			ret = i;
	return ret;
}

/* Neither the first nor the last nor the highest; 0: there is none. */
static size_t least_missed(const struct recording_series *series, bool asked_for)
{
	const struct kept *kept = series->kept;
	double now = kept[series->kept_count - 1].time, least = INFINITY;
	size_t peak = highest(series), ret = 0;

	for (size_t i = 1; i + 1 < series->kept_count; i++) {
		double gap = kept[i + 1].time - kept[i - 1].time;
		double loss = gap / (now - kept[i - 1].time);

		if (i == peak || (kept[i].asked_for && !asked_for) || !(loss < least))
			continue;
		least = loss;
		ret = i;
	}
	return ret;
}

/* Which has to go; 0: none can. */
static size_t choose(const struct recording_series *series)
{
	size_t at = least_missed(series, false);

	return at ? at : least_missed(series, true);
}

static int give_up(struct recording_series *series, size_t at)
{
	uint64_t id = series->kept[at].id;
	int count = run_for(series, series->move, id, series->kept[at + 1].id);

	if (count >= 0)
		count = run_for(series, series->drop, id, 0);
	if (count < 0)
		return count;
	series->rows -= (uint64_t)count < series->rows ? (uint64_t)count : series->rows;
	series->kept_count--;
	memmove(&series->kept[at], &series->kept[at + 1],
		(series->kept_count - at) * sizeof(series->kept[0]));
	return 0;
}

int recording_series_give_up(struct recording_series *series, uint64_t *ret_count)
{
	size_t at = series->kept_count > 2 ? choose(series) : 0;
	int count;

	if (at == 0)
		return 0;
	count = run_for(series, series->drop_totals, series->kept[at - 1].id,
			series->kept[at + 1].id);
	if (count >= 0) {
		*ret_count = (uint64_t)count;
		count = give_up(series, at);
	}
	return count < 0 ? count : 1;
}

static int put_zeros(struct recording_series *series, uint64_t id, uint32_t site)
{
	const struct snapshot_site none = { .id = site };
	int err = put_site(series, id, &none);

	if (err == 0)
		err = run_for(series, series->zero, site, 0);
	return err < 0 ? err : 0;
}

/* Those that were written, and are in this snapshot no more. */
static int put_evicted(struct recording_series *series, uint64_t id)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < series->written_count;) {
		if (series->written[i].round == series->round) {
			i++;
			continue;
		}
		err = put_zeros(series, id, series->written[i].site);
		forget_written(series, i);
	}
	return err ? err : recording_db_run(series->db,
		"DELETE FROM site_lives WHERE site IN (SELECT id FROM sites WHERE alloc_count = 0);"
		"DELETE FROM reallocs WHERE site IN (SELECT id FROM sites WHERE alloc_count = 0);");
}

int recording_series_add(struct recording_series *series, uint64_t id,
			 const struct snapshot *snapshot)
{
	uint64_t before = series->rows;
	int err = 0;

	series->round++;
	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		err = put_site(series, id, &snapshot->site[i]);
	if (err == 0 && series->evicted != snapshot->session.memory.evicted_sites)
		err = put_evicted(series, id);
	series->evicted = snapshot->session.memory.evicted_sites;
	if (series->rows == before)
		return err;	/* nothing changed: no rows */
	series->kept[series->kept_count++] = (struct kept){
		id, snapshot->session.duration, snapshot->totals.live_bytes,
		snapshot->reason == SNAPSHOT_SIGNAL };
	for (unsigned int i = 0; err == 0 && i < GIVE_UP_MOST; i++) {
		bool many = series->rows > RECORDING_SERIES_ROWS &&
			    series->kept_count > RECORDING_SERIES_LEAST;

		size_t at = many || series->kept_count > RECORDING_SERIES_MOST ? choose(series) : 0;

		if (at)
			err = give_up(series, at);
	}
	return err;
}

/* --- after an undone transaction ------------------------------------------------ */

static int take_kept(void *context, struct row *row)
{
	struct recording_series *series = context;
	struct kept kept = { .id = row_uint(row) };

	kept.time = row_real(row);
	kept.live = row_uint(row);
	kept.asked_for = row_uint(row) == SNAPSHOT_SIGNAL;
	if (series->kept_count < RECORDING_SERIES_MOST)
		series->kept[series->kept_count++] = kept;
	return 0;
}

/* A site's last row; zeros: it was evicted. */
static int take_written(void *context, struct row *row)
{
	struct recording_series *series = context;
	struct written *written;
	struct figures last;
	uint32_t site = (uint32_t)row_uint(row);

	series->rows += row_uint(row);
	(void)row_uint(row);		/* max(snapshot): the row is that one's */
	for (size_t i = 0; i < FIGURES; i++)
		last.value[i] = row_uint(row);
	written = memcmp(&last, &(struct figures){ .value = { 0 } }, sizeof(last)) == 0 ? NULL :
		  written_of(series, site);
	if (written)
		written->figures = last;
	return 0;
}

int recording_series_reload(struct recording_series *series)
{
	int err;

	hashmap_done(&series->written_index);
	series->written_count = 0;
	series->kept_count = 0;
	series->rows = 0;
	series->evicted = UINT64_MAX;	/* some may have been since: to be looked for */
	err = recording_db_query(series->db, "SELECT id, time, live_bytes, reason FROM snapshots "
				 "WHERE id IN (SELECT snapshot FROM snapshot_sites) ORDER BY id", 0,
				 take_kept, series);
	return err ? err :
	       recording_db_query(series->db, "SELECT site, sum(1), max(snapshot), live_count, "
				  "live_bytes, alloc_count, alloc_bytes, free_count "
				  "FROM snapshot_sites GROUP BY site", 0, take_written, series);
}

/* --- reading ------------------------------------------------------------------- */

struct reading {
	struct hashmap by_site;		/* id -> index */
	struct trend *trend;
};

static int begin_trends(const struct snapshot *snapshot, struct reading *r)
{
	int err = 0;

	r->trend = calloc(snapshot->site_count + 1, sizeof(*r->trend));
	if (!r->trend)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++) {
		trend_init(&r->trend[i], snapshot->session.duration);
		err = hashmap_put(&r->by_site, snapshot->site[i].id, i);
	}
	return err;
}

/* Rows come in the order of snapshots; those of sites that there are not are left out. */
static int read_rows(sqlite3 *db, struct reading *r)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int result = recording_db_select(db,
		"SELECT s.site, snapshots.time, s.live_bytes FROM snapshot_sites AS s "
		"JOIN snapshots ON snapshots.id = s.snapshot ORDER BY s.snapshot, s.site",
		&statement);

	while (result == SQLITE_OK || result == SQLITE_ROW) {
		struct row row = { .statement = statement };
		uint64_t site, at;
		double time;

		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		site = row_uint(&row);
		time = row_real(&row);
		if (hashmap_get(&r->by_site, site, &at))
			trend_add(&r->trend[at], time, (double)row_uint(&row));
	}
	return recording_db_errno(db, result);
}

/* Not count(*): SQLite counts that in one step, however long it takes (bounds.h). */
static int count_looks(sqlite3 *db, uint64_t *ret)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int result = recording_db_select(db, "SELECT sum(1) FROM snapshots", &statement);

	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result != SQLITE_ROW)
		return recording_db_errno(db, result);
	*ret = row_uint(&(struct row){ .statement = statement });
	return 0;
}

int recording_series_read(sqlite3 *db, const struct snapshot *snapshot, struct trend **ret,
			  uint64_t *ret_looks)
{
	struct reading r = { .trend = NULL };
	int err = recording_db_has_table(db, "snapshot_sites");

	if (err == 0)
		*ret = NULL;
	if (err <= 0)
		return err;
	err = begin_trends(snapshot, &r);
	if (err == 0)
		err = read_rows(db, &r);
	if (err == 0)
		err = count_looks(db, ret_looks);
	hashmap_done(&r.by_site);
	if (err < 0)
		free(r.trend);
	else
		*ret = r.trend;
	return err;
}
