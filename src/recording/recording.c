/* SPDX-License-Identifier: MIT */
/*
 * recording.c - the writer: one transaction per interval.
 *
 * Write-ahead logging: a commit is one append, a SIGKILL at any instant leaves
 * the intervals before it, and others may query the file meanwhile without
 * making us wait. The rollback journal was rejected for the last two. The log is
 * synced only when it is folded into the file: a power failure may cost the last
 * intervals, never the file, and a slow disk does not stall the reader of the rings.
 * At the end the log is folded in, so that a finished recording is one file.
 *
 * Sites that saw no event since the last interval are skipped until the last
 * snapshot, when all are written once more.
 */
#include "src/recording/recording.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <uthash.h>

#include "src/recording/blocks.h"
#include "src/recording/counted.h"
#include "src/recording/db.h"
#include "src/recording/heaps.h"
#include "src/recording/leaks.h"
#include "src/recording/limit.h"
#include "src/recording/lives.h"
#include "src/recording/open.h"
#include "src/recording/place.h"
#include "src/recording/recording_private.h"
#include "src/recording/reallocs.h"
#include "src/recording/regions.h"
#include "src/recording/series.h"
#include "src/recording/stack_rows.h"
#include "src/recording/threads.h"
#include "src/recording/wrong_frees.h"
#include "src/recording/schema.h"

#define END_BUSY_MS	10000
#define THREADS_PART	8u	/* of the limit, one in so many: for what threads did */
#define COURSE_PART	160u	/* of 256 of the limit: the rest is for what the end adds */
#define ROOM_TRIES	64u

static const char *const table_name[TABLE_COUNT] = {
	"target", "allocators", "entry_points", "session", "snapshots", "timeline", "histogram",
	"modules", "symbols", "sites", "leaks", "leak_addresses",
};

/* Places of each table's row, from the table itself. */
static int prepare_all(struct recording *recording)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		_cleanup_(recording_db_done) sqlite3_stmt *columns = NULL;
		char sql[64];
		int err;

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", table_name[i]);
		err = recording_db_errno(recording->db, sqlite3_prepare_v2(recording->db, sql, -1,
									   &columns, NULL));
		if (err == 0)
			err = recording_db_prepare(recording->db, table_name[i],
						   (unsigned int)sqlite3_column_count(columns),
						   &recording->statement[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

static void recording_free(struct recording *recording)
{
	stack_rows_done(&recording->rows);
	free(recording->path);
	free(recording);
}

static void recording_end_statements(struct recording *recording)
{
	recording_series_free(recording->series);
	stack_rows_end(&recording->rows);
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		recording_db_done(&recording->statement[i]);
}

/* place: by recording_place_clear, or NULL and unnamed. */
static int open_db(struct recording *recording, const char *place,
		   const struct recording_unnamed *unnamed)
{
	int err = unnamed ? recording_open_new_unnamed(unnamed, &recording->db) :
			    recording_open_new(place, &recording->db);

	if (err == 0)
		err = prepare_all(recording);
	if (err == 0)
		err = stack_rows_open(&recording->rows, recording->db);
	return err ? err : recording_series_new(recording->db, &recording->series);
}

static int open_at(const char *name, const char *place, const struct recording_unnamed *unnamed,
		   struct recording **ret)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return -ENOMEM;
	recording->path = strdup(name);
	err = recording->path ? open_db(recording, place, unnamed) : -ENOMEM;
	if (err < 0) {
		recording_end_statements(recording);
		sqlite3_close(recording->db);
		recording_free(recording);
		return err;
	}
	*ret = recording;
	return 0;
}

int recording_open(const char *path, struct recording **ret)
{
	_cleanup_free_ char *place = NULL;
	int err = recording_place_clear(path, &place);

	return err < 0 ? err : open_at(path, place, NULL, ret);
}

int recording_open_unnamed(const struct recording_unnamed *unnamed, const char *name,
			   struct recording **ret)
{
	return open_at(name, NULL, unnamed, ret);
}

int recording_set_limit(struct recording *recording, uint64_t bytes)
{
	recording->limit.bytes = bytes;
	return recording_limit_begin(&recording->limit, recording->db);
}

int recording_put(struct recording *recording, enum table table, const struct cell *cell,
		  size_t count)
{
	return recording_db_put(recording->statement[table], cell, (unsigned int)count);
}

/* Entry points are hooked once: written when their number changes, not each interval. */
static int put_allocators(struct recording *recording, const struct snapshot_target *target)
{
	int err = recording_db_run(recording->db, "DELETE FROM allocators;"
						  "DELETE FROM entry_points;");

	for (size_t i = 0; err == 0 && i < target->allocator_count; i++) {
		const struct snapshot_allocator *allocator = &target->allocator[i];

		err = PUT(recording, TABLE_ALLOCATORS, CELL_I(i), CELL_T(allocator->name),
			  CELL_T(allocator->version), CELL_T(allocator->module));
		for (size_t n = 0; err == 0 && n < allocator->hooked_count; n++)
			err = PUT(recording, TABLE_ENTRY_POINTS, CELL_I(i),
				  CELL_T(allocator->hooked[n]));
	}
	return err;
}

static size_t hooked_count(const struct snapshot_target *target)
{
	size_t count = 0;

	for (size_t i = 0; i < target->allocator_count; i++)
		count += 1 + target->allocator[i].hooked_count;
	return count;
}

static int put_target(struct recording *recording, const struct snapshot_target *target)
{
	int err = recording_db_run(recording->db, "DELETE FROM target");

	if (err == 0)
		err = PUT(recording, TABLE_TARGET, CELL_I(target->pid), CELL_T(target->exe),
			  CELL_T(target->cmdline), CELL_R(target->start_time),
			  CELL_I(target->threads), CELL_I(target->rss_bytes),
			  CELL_I(target->vsz_bytes));
	if (err == 0 && hooked_count(target) != recording->hooked_count)
		err = put_allocators(recording, target);
	return err;
}

static int put_session(struct recording *recording, const struct snapshot *snapshot)
{
	const struct snapshot_session *session = &snapshot->session;
	const struct snapshot_memory *m = &session->memory;
	int err = recording_db_run(recording->db, "DELETE FROM session");

	return err < 0 ? err :
	       PUT(recording, TABLE_SESSION, CELL_T(session->version), CELL_I(session->mode),
		   CELL_I(session->loader), CELL_R(session->begin_time), CELL_R(session->duration),
		   CELL_I(session->sample_interval_bytes), CELL_R(session->overhead_percent),
		   CELL_I(session->attach_stop_us_max), CELL_I(session->detach_stop_us_max),
		   CELL_I(session->threads_stopped), CELL_I(session->detached),
		   CELL_I(session->events.alloc), CELL_I(session->events.free),
		   CELL_I(session->events.map), CELL_I(session->events.unmap),
		   CELL_I(session->lost.alloc), CELL_I(session->lost.free),
		   CELL_I(session->lost.stack), CELL_I(session->lost.map),
		   CELL_I(session->lost.alloc_bytes), CELL_I(session->stacks.distinct),
		   CELL_I(session->stacks.unwound), CELL_I(session->stacks.truncated),
		   CELL_I(session->stacks.recognised), CELL_R(session->blocked_seconds),
		   CELL_I(session->corrupt), CELL_I(session->gaps),
		   CELL_R(session->gap_seconds), CELL_I(snapshot->exact),
		   CELL_I(snapshot->every_alloc), CELL_I(snapshot->complete),
		   CELL_I(snapshot->has_leaks), CELL_I(recording->limit.bytes),
		   CELL_I(recording->limit.given_up), CELL_I(session->stacks.audited),
		   CELL_I(session->stacks.mismatched), CELL_I(m->limit_bytes),
		   CELL_I(m->used_bytes), CELL_I(m->peak_bytes), CELL_I(m->evicted_sites),
		   CELL_I(m->evicted_stacks), CELL_I(m->evicted_alloc_count),
		   CELL_I(m->evicted_alloc_bytes), CELL_I(m->thinned_blocks),
		   CELL_I(m->thinned_bytes), CELL_I(m->thinned_interval_bytes));
}

static int put_totals(struct recording *recording, const struct snapshot *snapshot)
{
	const struct snapshot_totals *t = &snapshot->totals;
	const struct snapshot_map_totals *m = &snapshot->map_totals;

	return PUT(recording, TABLE_SNAPSHOTS, CELL_I(++recording->snapshot_count),
		   CELL_R(snapshot->session.duration), CELL_I(t->alloc_count),
		   CELL_I(t->alloc_bytes), CELL_I(t->free_count), CELL_I(t->free_bytes),
		   CELL_I(t->double_free_count), CELL_I(t->illegal_free_count),
		   CELL_I(t->free_unknown_count), CELL_I(t->temporary_count),
		   CELL_I(t->overhead_bytes), CELL_I(t->live_count), CELL_I(t->live_bytes),
		   CELL_I(t->peak_live_bytes), CELL_I(t->live_bytes_low),
		   CELL_I(t->live_bytes_high), CELL_I(t->missed_free_count),
		   CELL_I(t->untracked_count), CELL_I(t->samples), CELL_I(m->map_count),
		   CELL_I(m->map_bytes), CELL_I(m->unmap_count), CELL_I(m->unmap_bytes),
		   CELL_I(m->live_count), CELL_I(m->live_bytes), CELL_I(m->peak_live_bytes),
		   CELL_I(m->allocator_live_bytes), CELL_I(m->unmap_unknown_bytes),
		   CELL_I(snapshot->reason));
}

/* The last known point may have grown; when points were joined, all are new. */
static int put_timeline(struct recording *recording, const struct snapshot *snapshot)
{
	size_t from = recording->timeline_count ? recording->timeline_count - 1 : 0;
	int err = 0;

	if (snapshot->timeline_count < recording->timeline_count) {
		err = recording_db_run(recording->db, "DELETE FROM timeline");
		from = 0;
	}
	for (size_t i = from; err == 0 && i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];

		err = PUT(recording, TABLE_TIMELINE, CELL_I(i), CELL_R(point->time),
			  CELL_I(point->alloc_count), CELL_I(point->free_count),
			  CELL_I(point->alloc_bytes), CELL_I(point->live_bytes),
			  CELL_I(point->rss_bytes), CELL_I(point->vsz_bytes),
			  CELL_I_IF(point->trend_bytes, point->trend_known),
			  CELL_I(point->sample_interval));
	}
	return err;
}

static int put_histogram(struct recording *recording, const struct snapshot *snapshot)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->histogram_count; i++)
		err = PUT(recording, TABLE_HISTOGRAM, CELL_I(snapshot->histogram[i].size),
			  CELL_I(snapshot->histogram[i].count));
	return err;
}

static int put_site(struct recording *recording, const struct snapshot_site *s)
{
	return PUT(recording, TABLE_SITES, CELL_I(s->id), CELL_I(s->stack), CELL_I(s->kind),
		   CELL_I(s->skip_frames), CELL_I(s->verdict), CELL_I(s->live_count),
		   CELL_I(s->live_bytes), CELL_I(s->live_bytes_low), CELL_I(s->live_bytes_high),
		   CELL_I(s->alloc_count), CELL_I(s->alloc_bytes), CELL_I(s->free_count),
		   CELL_I(s->peak_live_bytes), CELL_I(s->temporary_count), CELL_I(s->samples),
		   CELL_I(s->threads), CELL_R(s->lifetime_p50), CELL_R(s->lifetime_p90),
		   CELL_R(s->lifetime_max), CELL_R(s->first_time), CELL_R(s->last_time),
		   CELL_R(s->growth), CELL_R(s->growth_low), CELL_R(s->growth_high),
		   CELL_I(s->at_peak_bytes), CELL_I(s->at_peak_count),
		   CELL_I(s->size_low), CELL_I(s->size_high));
}

/* Sites with events since then are written; at the end all. */
static double sites_since(const struct recording *recording, const struct snapshot *snapshot)
{
	bool all = snapshot->session.detached != SNAPSHOT_ATTACHED;

	/* An interval's events may be up to a batch older than its end. */
	return all ? -INFINITY : recording->until - 1.0;
}

static int put_sites(struct recording *recording, const struct snapshot *snapshot, double since)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < snapshot->site_count; i++)
		if (snapshot->site[i].last_time >= since)
			err = put_site(recording, &snapshot->site[i]);
	return err;
}

static int put_leaks(struct recording *recording, const struct snapshot *snapshot)
{
	int err = recording_db_run(recording->db, "DELETE FROM leaks; DELETE FROM leak_addresses;");

	for (size_t i = 0; err == 0 && i < snapshot->leak_count; i++) {
		const struct snapshot_leak *leak = &snapshot->leak[i];

		err = PUT(recording, TABLE_LEAKS, CELL_I(leak->site), CELL_I(leak->count),
			  CELL_I(leak->bytes), CELL_R(leak->oldest));
		for (uint32_t n = 0; err == 0 && n < leak->address_count; n++)
			err = PUT(recording, TABLE_LEAK_ADDRESSES, CELL_I(leak->site), CELL_I(n),
				  CELL_I(leak->address[n]));
	}
	return err;
}

/* Ends the transaction; after an error (err) it is undone. Returns err, or the commit's. */
static int end_transaction(struct recording *recording, int err)
{
	if (err == 0)
		err = recording_db_run(recording->db, "COMMIT");
	if (err < 0)
		sqlite3_exec(recording->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

/* Nothing more will be written. Returns err. */
static int say_error(struct recording *recording, int err)
{
	bool limited = err == -ENOSPC && recording->limit.bytes;

	recording->error = err;
	snprintf(recording->message, sizeof(recording->message),
		 "%.300s: %s%s; what was recorded until %.1f s is kept", recording->path,
		 err == -EFBIG ? RECORDING_FILE_LIMIT : strerror(-err),
		 limited ? ", or --max-recording is too little for it" : "", recording->until);
	return err;
}

static int recording_commit(struct recording *recording, int err)
{
	err = end_transaction(recording, err);
	return err < 0 ? say_error(recording, err) : 0;
}

/* Nobody is kept waiting any more by a file that somebody else keeps busy. */
static void note_end(struct recording *recording, const struct snapshot *snapshot)
{
	recording->ended = snapshot->session.detached != SNAPSHOT_ATTACHED;
	if (recording->ended)
		sqlite3_busy_timeout(recording->db, END_BUSY_MS);
}

/* 1: somebody else writes (names, a user's own table); what comes next has all of it. */
static int begin(struct recording *recording)
{
	int err = recording_db_run(recording->db, "BEGIN IMMEDIATE");

	return err == -EBUSY && !recording->ended ? 1 : err;
}

void recording_set_pulse(struct recording *recording, void (*pulse)(void *context), void *context)
{
	recording->rows.pulse = pulse;
	recording->rows.context = context;
}

void recording_rest(struct recording *recording)
{
	if (recording)
		(void)sqlite3_db_release_memory(recording->db);
}

int recording_add(struct recording *recording, const struct snapshot *snapshot,
		  const struct stacks *stacks, const struct modules *modules)
{
	uint32_t stack_count = stacks_count(stacks), module_count = 0;
	double since = sites_since(recording, snapshot);
	int err = recording->error;

	if (err < 0)
		return err;
	note_end(recording, snapshot);
	err = begin(recording);
	if (err > 0)
		return 0;
	if (err == 0)
		err = put_target(recording, &snapshot->target);
	if (err == 0)
		err = put_totals(recording, snapshot);
	if (err == 0)
		err = put_timeline(recording, snapshot);
	if (err == 0)
		err = put_histogram(recording, snapshot);
	if (err == 0)
		err = recording_put_modules(recording, modules, &module_count);
	if (err == 0)
		err = stack_rows_put(&recording->rows, stacks, recording->stack_count + 1,
				     stack_count);
	if (err == 0)
		err = put_sites(recording, snapshot, since);
	if (err == 0)
		err = recording_reallocs_put(recording->db, snapshot, since);
	if (err == 0)
		err = recording_series_add(recording->series, recording->snapshot_count, snapshot);
	if (err == 0 && snapshot->has_leaks)
		err = put_leaks(recording, snapshot);
	if (err == 0)
		err = recording_wrong_frees_put(recording->db, snapshot);
	if (err == 0)
		err = recording_counted_put(recording->db, recording->snapshot_count,
					    recording->limit.bytes, snapshot);
	if (err == 0)
		err = recording_limit_keep(&recording->limit, recording->db, recording->series,
					   recording->snapshot_count, COURSE_PART);
	if (err == 0)	/* last: it says how much was given up */
		err = put_session(recording, snapshot);
	err = recording_commit(recording, err);
	if (err < 0)
		return err;
	recording->stack_count = stack_count;
	recording->module_count = module_count;
	recording->timeline_count = snapshot->timeline_count;
	recording->hooked_count = hooked_count(&snapshot->target);
	recording->until = snapshot->session.duration;
	return 0;
}

static int put_symbols(struct recording *recording, const struct known_frame *known,
		       const struct report_names *names)
{
	size_t count = 0;
	const struct symbol_frame *symbol = names->frame(names->context, &known->frame, &count);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
		err = PUT(recording, TABLE_SYMBOLS, CELL_I(known->id), CELL_I(i),
			  CELL_T(symbol[i].function), CELL_I(symbol[i].function_offset),
			  CELL_T(symbol[i].file), CELL_I(symbol[i].line),
			  CELL_I(symbol[i].column), CELL_T(symbol[i].module),
			  CELL_T(symbol[i].build_id), CELL_I(symbol[i].offset),
			  CELL_I(symbol[i].inlined));
	return err;
}

static int try_symbols(struct recording *recording, const struct report_names *names)
{
	struct known_frame *known, *next;
	int err = recording_db_run(recording->db, "BEGIN IMMEDIATE");

	HASH_ITER(hh, recording->rows.frames, known, next)
		if (err == 0)
			err = put_symbols(recording, known, names);
	return end_transaction(recording, err);
}

/* Names are worth more than the course of the session. */
static int make_room(struct recording *recording, unsigned int part)
{
	char sql[80];
	int err = recording_db_run(recording->db, "BEGIN IMMEDIATE");

	for (unsigned int i = 0; err == 0 && i < ROOM_TRIES; i++)
		err = recording_limit_keep(&recording->limit, recording->db, recording->series,
					   recording->snapshot_count, part);
	(void)snprintf(sql, sizeof(sql), "UPDATE session SET given_up = %llu",
		       (unsigned long long)recording->limit.given_up);
	if (err == 0)
		err = recording_db_run(recording->db, sql);
	return end_transaction(recording, err);
}

/* What threads did is left out, or given up, where a limit leaves no room for it. */
static int drop_threads(struct recording *recording)
{
	int err = recording_db_run(recording->db, "BEGIN IMMEDIATE");

	if (err == 0)
		err = recording_threads_put(recording->db, NULL);
	return end_transaction(recording, err);
}

int recording_symbolize(struct recording *recording, const struct report_names *names)
{
	unsigned int part = COURSE_PART;
	int err = recording->error;

	if (err < 0)
		return err;
	err = try_symbols(recording, names);
	while (err == -ENOSPC && recording->limit.bytes && part > 1) {
		err = make_room(recording, part /= 2);
		if (err == 0)
			err = try_symbols(recording, names);
	}
	if (err == -ENOSPC && recording->limit.bytes) {
		err = drop_threads(recording);
		if (err == 0)
			err = try_symbols(recording, names);
	}
	return err < 0 ? say_error(recording, err) : 0;
}

int recording_add_memory(struct recording *recording, const struct regions *regions,
			 const struct heap_figures *heaps)
{
	int err = recording->error;

	if (err < 0)
		return err;
	err = recording_db_run(recording->db, "BEGIN IMMEDIATE");
	if (err == 0 && regions)
		err = recording_regions_put(recording->db, regions);
	if (err == 0 && heaps)
		err = recording_heaps_put(recording->db, heaps);
	err = end_transaction(recording, err);
	if (err == -ENOSPC && recording->limit.bytes)
		return 0;
	return err < 0 ? say_error(recording, err) : 0;
}

/* A transaction of its own, for what is not part of an interval. As begin. */
static int begin_part(struct recording *recording)
{
	int err = recording->error;

	if (err < 0)
		return err;
	err = begin(recording);
	return err < 0 ? recording_commit(recording, err) : err;
}

int recording_add_leaks(struct recording *recording, const struct leak_report *leaks)
{
	int err = begin_part(recording);

	if (err == 0)
		err = recording_commit(recording, recording_leaks_put(recording->db, leaks));
	return err < 0 ? err : 0;
}

int recording_add_lives(struct recording *recording, const struct site_lives *lives)
{
	int err = begin_part(recording);

	if (err == 0)
		err = recording_commit(recording, recording_lives_put(recording->db, lives));
	return err < 0 ? err : 0;
}

int recording_add_blocks(struct recording *recording, const struct block_list *blocks)
{
	int err = begin_part(recording);

	if (err == 0)
		err = recording_commit(recording, recording_blocks_put(recording->db, blocks));
	return err < 0 ? err : 0;
}

int recording_add_threads(struct recording *recording, const struct thread_table *threads)
{
	bool limited = recording->limit.bytes > 0;
	bool fits = !limited ||
		    recording_threads_bytes(threads) <= recording->limit.bytes / THREADS_PART;
	int err = begin_part(recording);

	if (err != 0)
		return err < 0 ? err : 0;
	err = end_transaction(recording, recording_threads_put(recording->db,
							       fits ? threads : NULL));
	if (err == -ENOSPC && limited)
		err = drop_threads(recording);
	return err < 0 ? say_error(recording, err) : 0;
}

int recording_close(struct recording *recording)
{
	int err;

	if (!recording)
		return 0;
	recording_end_statements(recording);
	/*
	 * From now on it is one file that needs no log, wherever it is copied. Somebody who reads
	 * it just now keeps the log, and loses nothing.
	 */
	err = recording_db_run(recording->db, "PRAGMA journal_mode=DELETE");
	if (err == -EBUSY)
		err = 0;
	sqlite3_close(recording->db);
	err = recording->error ? recording->error : err;
	recording_free(recording);
	return err;
}

const char *recording_error(const struct recording *recording)
{
	return recording->message;
}
