/* SPDX-License-Identifier: MIT */
/*
 * moment.c - see moment.h.
 *
 * Totals are kept of every snapshot, sites only of some: those that snapshot_sites has rows of,
 * and those after one of them whose totals are the same, since nothing happened in between. A
 * moment is one of these, so that its totals and its sites are of the same time.
 * Rejected: to compute what lies between two snapshots. It would look like a figure that was seen.
 */
#include "src/recording/moment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/hashmap.h"
#include "src/recording/series.h"

#define GRACE_SECONDS	1.0	/* reports round: 39.98 s is 40 s to their readers */

/* ---- which ---- */

static int parse_number(const char *text, struct recording_moment *ret)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	char *end;
	double value = strtod(text, &end);

	if (end == text || !isfinite(value) || value < 0 || !strchr("0123456789.", text[0]))
		return -EINVAL;
	if (strcmp(end, "%") == 0) {
		*ret = (struct recording_moment){ RECORDING_PERCENT, value };
		return value <= 100 ? 0 : -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		*ret = (struct recording_moment){ RECORDING_TIME, value * units[i].seconds };
		return 0;
	}
	return -EINVAL;
}

static int parse_moment(const char *text, struct recording_moment *ret)
{
	*ret = (struct recording_moment){ .kind = RECORDING_END };
	if (strcmp(text, "end") == 0)
		return 0;
	if (strcmp(text, "peak") != 0)
		return parse_number(text, ret);
	ret->kind = RECORDING_PEAK;
	return 0;
}

int recording_moment_parse(const char *name, char **ret_path, struct recording_moment *ret)
{
	struct recording_moment moment = { .kind = RECORDING_END };
	const char *at = strrchr(name, '@');
	bool parted = at && at > name && access(name, F_OK) < 0;
	int err = parted ? parse_moment(at + 1, &moment) : 0;
	char *path;

	/* a file that is not there and no moment either: say that it is not there */
	if (err < 0 && strchr(at, '/'))
		parted = false;
	else if (err < 0)
		return err;
	path = parted ? strndup(name, (size_t)(at - name)) : strdup(name);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	*ret = moment;
	return 0;
}

/* ---- where ---- */

#define MARKS 5u
struct mark {
	uint64_t id;
	double time;
	bool has_rows;
	uint64_t total[MARKS];	/* that change if anything does; live bytes, mapped bytes first */
};
struct search {
	const struct recording_moment *moment;
	double until;		/* seconds */
	struct mark known;	/* the last whose sites are known */
	struct mark best;
	bool found;
};

static int read_end(void *context, struct row *row)
{
	struct recording_at *at = context;

	at->snapshot = row_uint(row);
	at->time = row_real(row);
	return 0;
}

static bool is_more(const struct mark *a, const struct mark *b)
{
	return a->total[0] != b->total[0] ? a->total[0] > b->total[0] : a->total[1] > b->total[1];
}

static int consider(void *context, struct row *row)
{
	struct search *search = context;
	struct mark mark = { .id = row_uint(row) };

	mark.time = row_real(row);
	mark.has_rows = row_bool(row);
	for (unsigned int i = 0; i < MARKS; i++)
		mark.total[i] = row_uint(row);
	if (mark.has_rows)
		search->known = mark;
	else if (memcmp(mark.total, search->known.total, sizeof(mark.total)) != 0)
		return 0;	/* its sites were given up */
	if (search->moment->kind == RECORDING_PEAK ? search->found && !is_more(&mark, &search->best)
						   : !(mark.time <= search->until))
		return 0;
	search->best = mark;
	search->found = true;
	return 0;
}

int recording_moment_find(sqlite3 *db, const struct recording_moment *moment,
			  struct recording_at *ret)
{
	struct search search = { .moment = moment, .until = moment->value };
	struct recording_at last = { .is_end = true };
	int err = recording_db_query(db, "SELECT id, time FROM snapshots ORDER BY id DESC LIMIT 1",
				     0, read_end, &last);
	double end = last.time;

	if (err < 0)
		return err;
	*ret = last;
	if (moment->kind == RECORDING_PERCENT)
		search.until = end * moment->value / 100;
	if (moment->kind == RECORDING_TIME && moment->value > end + GRACE_SECONDS)
		return -ERANGE;
	if (moment->kind == RECORDING_END)
		return 0;
	if (moment->kind != RECORDING_PEAK && search.until >= end)
		return 0;
	err = recording_db_columns(db, "snapshot_sites");
	if (err >= 0 && err < (int)RECORDING_SERIES_COLUMNS)
		return -EOPNOTSUPP;
	if (err >= 0)
		err = recording_db_query(db, "SELECT s.id, s.time, EXISTS(SELECT 1 FROM "
			"snapshot_sites WHERE snapshot = s.id), s.live_bytes, s.map_live_bytes, "
			"s.alloc_count + s.free_count, s.alloc_bytes, s.map_count + s.unmap_count "
			"FROM snapshots AS s ORDER BY s.id", 0, consider, &search);
	if (err < 0)
		return err;
	*ret = (struct recording_at){ search.best.id, search.best.time,
				      search.found && search.best.id == last.snapshot };
	return 0;
}

/* ---- what was known then ---- */

/* A site at the end. */
struct ending {
	uint64_t samples, alloc_count;
	bool seen;			/* it was there at the moment, too */
};
struct applying {
	struct snapshot *snapshot;
	struct hashmap by_site;		/* id -> index */
	struct ending *ending;		/* [index] */
	double time;
};

static uint64_t minus(uint64_t from, uint64_t what)
{
	return what < from ? from - what : 0;
}

static uint64_t plus(uint64_t to, uint64_t what)
{
	return what < UINT64_MAX - to ? to + what : UINT64_MAX;
}

static uint64_t in_proportion(uint64_t samples, uint64_t count, uint64_t of)
{
	double share = of ? (double)samples * ((double)count / (double)of) : 0;

	return samples == of ? count : share < (double)samples ? (uint64_t)share : samples;
}

/* Later rows of a site replace earlier ones: rows come in the order of snapshots. */
static int apply_row(void *context, struct row *row)
{
	struct applying *a = context;
	struct snapshot_site *s;
	uint64_t at;

	if (!hashmap_get(&a->by_site, row_uint(row), &at))
		return 0;
	s = &a->snapshot->site[at];
	s->live_count = row_uint(row);
	s->live_bytes = row_uint(row);
	s->alloc_count = row_uint(row);
	s->alloc_bytes = row_uint(row);
	s->free_count = row_uint(row);
	s->live_bytes_low = minus(s->live_bytes, row_uint(row));
	s->live_bytes_high = plus(s->live_bytes, row_uint(row));
	s->peak_live_bytes = row_uint(row);
	s->temporary_count = row_uint(row);
	a->ending[at].seen = true;
	return 0;
}

static int site_order(const void *a, const void *b)
{
	const struct snapshot_site *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static enum snapshot_verdict verdict_then(const struct snapshot_site *site)
{
	if (site->live_count == 0)
		return SNAPSHOT_FREED;
	return site->samples < SNAPSHOT_FEWEST_SAMPLES &&
	       site->live_bytes_low < site->live_bytes_high ? SNAPSHOT_TOO_FEW : SNAPSHOT_UNKNOWN;
}

/* What only the end knows of a site. */
static void forget_end(struct snapshot_site *site, double time)
{
	site->verdict = verdict_then(site);
	site->lifetime_p50 = site->lifetime_p90 = site->lifetime_max = 0;
	site->growth = site->growth_low = site->growth_high = 0;
	site->last_time = site->last_time < time ? site->last_time : time;
}

static void keep_seen(struct applying *a)
{
	struct snapshot *snapshot = a->snapshot;
	size_t count = 0;

	for (size_t i = 0; i < snapshot->site_count; i++) {
		struct snapshot_site *site = &snapshot->site[i];

		if (!a->ending[i].seen || site->alloc_count == 0)
			continue;
		site->samples = in_proportion(a->ending[i].samples, site->alloc_count,
					      a->ending[i].alloc_count);
		forget_end(site, a->time);
		snapshot->site[count++] = *site;
	}
	snapshot->site_count = count;
	if (count)
		qsort(snapshot->site, count, sizeof(*snapshot->site), site_order);
}

static int apply_sites(sqlite3 *db, const struct recording_at *at, struct snapshot *snapshot)
{
	_cleanup_free_ struct ending *ending = calloc(snapshot->site_count + 1, sizeof(*ending));
	struct applying a = { .snapshot = snapshot, .ending = ending, .time = at->time };
	int err = ending ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++) {
		ending[i].samples = snapshot->site[i].samples;
		ending[i].alloc_count = snapshot->site[i].alloc_count;
		err = hashmap_put(&a.by_site, snapshot->site[i].id, i);
	}
	if (err == 0)
		err = recording_db_query(db, "SELECT site, live_count, live_bytes, alloc_count, "
			"alloc_bytes, free_count, below, above, peak_live_bytes, temporary_count "
			"FROM snapshot_sites WHERE snapshot <= ?1 ORDER BY snapshot, site",
			at->snapshot, apply_row, &a);
	if (err == 0)
		keep_seen(&a);
	hashmap_done(&a.by_site);
	return err;
}

static void cut_timeline(struct snapshot *snapshot, double time)
{
	const struct timeline_point *last;
	size_t count = 0;

	while (count < snapshot->timeline_count && snapshot->timeline[count].time <= time)
		count++;
	snapshot->timeline_count = count;
	if (count == 0)
		return;
	last = &snapshot->timeline[count - 1];
	snapshot->target.rss_bytes = last->rss_bytes;
	snapshot->target.vsz_bytes = last->vsz_bytes;
}

int recording_moment_apply(sqlite3 *db, const struct recording_at *at, struct snapshot *snapshot)
{
	snapshot->session.recorded_seconds = snapshot->session.duration;
	snapshot->session.duration = at->time;
	snapshot->session.detached = SNAPSHOT_ATTACHED;
	snapshot->has_leaks = snapshot->site_peaks = snapshot->resizes = false;
	snapshot->site_intervals = false;
	snapshot->leak_count = snapshot->histogram_count = 0;
	cut_timeline(snapshot, at->time);
	return apply_sites(db, at, snapshot);
}
