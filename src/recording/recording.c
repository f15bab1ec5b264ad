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
 * A full disk costs intervals, not the recording: what was not written stays in the session's
 * memory, and is written once there is room. What is known here of the file's tables is then as it
 * was before.
 *
 * Names are written at the end, and earlier where somebody reads meanwhile: what is named then is
 * so for good, and a transaction that fails leaves its frames to a later one.
 */
#include "src/recording/recording.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "src/recording/recorded_blocks.h"
#include "src/recording/db.h"
#include "src/recording/heaps.h"
#include "src/recording/recorded_leaks.h"
#include "src/recording/limit.h"
#include "src/recording/lives.h"
#include "src/recording/open.h"
#include "src/recording/recording_place.h"
#include "src/recording/recording_private.h"
#include "src/recording/recorded_regions.h"
#include "src/recording/series.h"
#include "src/recording/stack_rows.h"
#include "src/recording/recorded_threads.h"
#include "src/recording/schema.h"

#define END_BUSY_MS	10000
#define LOOKED_AT	16384u	/* frames, for each time that some are named */
#define PULSE_FRAMES	256u
#define THREADS_PART	8u	/* of the limit, one in so many: for what threads did */
#define ROOM_TRIES	64u
#define PAUSE_LEAST	1.0	/* seconds until a full disk is tried again; then twice that */
#define PAUSE_MOST	300.0

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

/* pre: the tables are there. */
static int begin_writing(struct recording *recording)
{
	int err = prepare_all(recording);

	if (err == 0)
		err = stack_rows_open(&recording->rows, recording->db);
	if (err == 0)
		err = recording_series_new(recording->db, &recording->series);
	if (err == 0 && recording->limit.bytes)
		err = recording_limit_begin(&recording->limit, recording->db);
	recording->made = err == 0;
	return err;
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* place: by recording_place_clear, or NULL and unnamed. */
static int open_db(struct recording *recording, const char *place,
		   const struct recording_unnamed *unnamed)
{
	int err = unnamed ? recording_open_new_unnamed(unnamed, &recording->db) :
			    recording_open_new(place, &recording->db);

	if (err == 0)
		return begin_writing(recording);
	return is_full(err) && recording->db && recording->may_wait ? 0 : err;
}

static int open_at(const char *name, const char *place, const struct recording_unnamed *unnamed,
		   bool may_wait, struct recording **ret)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return -ENOMEM;
	recording->may_wait = may_wait;
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

static int open_named(const char *path, bool may_wait, struct recording **ret)
{
	_cleanup_free_ char *place = NULL;
	int err = recording_place_clear(path, &place);

	return err < 0 ? err : open_at(path, place, NULL, may_wait, ret);
}

int recording_open(const char *path, struct recording **ret)
{
	return open_named(path, false, ret);
}

int recording_open_soon(const char *path, struct recording **ret)
{
	return open_named(path, true, ret);
}

int recording_open_unnamed(const struct recording_unnamed *unnamed, const char *name,
			   struct recording **ret)
{
	return open_at(name, NULL, unnamed, false, ret);
}

int recording_set_limit(struct recording *recording, uint64_t bytes)
{
	recording->limit.bytes = bytes;
	return recording->made ? recording_limit_begin(&recording->limit, recording->db) : 0;
}

int recording_put(struct recording *recording, enum table table, const struct cell *cell,
		  size_t count)
{
	return recording_db_put(recording->statement[table], cell, (unsigned int)count);
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

static void note_written(struct recording *recording, const struct snapshot *snapshot,
			 const struct recording_reach *reach)
{
	recording->stack_count = reach->stack_count;
	recording->module_count = reach->module_count;
	recording->timeline_count = snapshot->timeline_count;
	recording->hooked_count = recording_hooked_count(&snapshot->target);
	recording->until = snapshot->session.duration;
	recording->full = false;
}

/* --- a full disk ---------------------------------------------------------- */

/* What a transaction changes here, and not only in the tables. */
struct before {
	uint32_t frame_count;
	uint64_t snapshot_count;
	struct recording_limit limit;
};

static struct before before(const struct recording *recording)
{
	return (struct before){ recording->rows.frame_count, recording->snapshot_count,
				recording->limit };
}

/* 0: it is as before, and waits for room; else the error that ends it. */
static int wait_for_room(struct recording *recording, const struct before *before, double now)
{
	int err = recording->made ? recording_series_reload(recording->series) : 0;

	stack_rows_undo(&recording->rows, before->frame_count);
	recording->snapshot_count = before->snapshot_count;
	recording->limit = before->limit;
	recording->pause = recording->full ? recording->pause * 2 : PAUSE_LEAST;
	if (recording->pause > PAUSE_MOST)
		recording->pause = PAUSE_MOST;
	recording->retry_at = now + recording->pause;
	recording->full = true;
	return err;
}

static bool waits(const struct recording *recording, double now)
{
	return recording->full && !recording->ended && now < recording->retry_at;
}

bool recording_is_full(const struct recording *recording)
{
	return recording->full && !recording->error;
}

static int make_late(struct recording *recording)
{
	int err = recording_open_again(recording->db);

	return err ? err : begin_writing(recording);
}

int recording_add(struct recording *recording, const struct snapshot *snapshot,
		  const struct stacks *stacks, const struct modules *modules)
{
	struct recording_reach reach = { 0 };
	double now = snapshot->session.duration;
	struct before was = before(recording);
	int err = recording->error;

	if (err < 0)
		return err;
	note_end(recording, snapshot);
	if (waits(recording, now))
		return 0;
	if (!recording->made)
		err = make_late(recording);
	if (err == 0)
		err = begin(recording);
	if (err > 0)
		return 0;
	if (err == 0)
		err = recording_put_interval(recording, snapshot, stacks, modules,
					     &reach);
	err = end_transaction(recording, err);
	if (is_full(err) && !recording->ended)
		err = wait_for_room(recording, &was, now);
	else if (err == 0)
		note_written(recording, snapshot, &reach);
	return err < 0 ? say_error(recording, err) : 0;
}

static int put_symbols(struct recording *recording, const struct known_frame *known,
		       const struct report_names *names)
{
	size_t count = 0;
	const struct symbol_frame *symbol = names->frame(names->context, &known->frame, &count);
	int err = 0;

	for (size_t i = 0; err == 0 && symbol && i < count; i++)
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
		if (err == 0 && !known->named)
			err = put_symbols(recording, known, names);
	return end_transaction(recording, err);
}

/* --- names while it is written --------------------------------------------- */

/* Frames that are named in a transaction. */
struct some_frames {
	struct known_frame *frame[RECORDING_NAMED_AT_ONCE];
	uint32_t count;
};

static bool has_function(const struct known_frame *known, const struct report_names *names)
{
	size_t count = 0;
	const struct symbol_frame *symbol = names->frame(names->context, &known->frame, &count);

	return symbol && count > 0 && symbol->function;
}

/* From where the last look ended; ids ascend, so what is new comes last. */
static void look_for_names(struct stack_rows *rows, const struct report_names *names,
			   uint32_t most, struct some_frames *ret)
{
	struct known_frame *known = rows->next_to_name ? rows->next_to_name : rows->frames;

	ret->count = 0;
	for (uint32_t i = 0; known && i < LOOKED_AT && i < rows->frame_count; i++) {
		if (ret->count == most)
			break;
		if (!known->named && has_function(known, names))
			ret->frame[ret->count++] = known;
		known = known->hh.next ? known->hh.next : rows->frames;
	}
	rows->next_to_name = known;
}

static int put_some(struct recording *recording, const struct some_frames *some,
		    const struct report_names *names)
{
	struct stack_rows *rows = &recording->rows;
	uint64_t before = 0;
	int err = recording_limit_used(recording->db, &before);

	for (uint32_t i = 0; err == 0 && i < some->count; i++) {
		err = put_symbols(recording, some->frame[i], names);
		if (rows->pulse && (i + 1) % PULSE_FRAMES == 0)
			rows->pulse(rows->context);
	}
	return err ? err : recording_limit_name(&recording->limit, recording->db, before);
}

uint32_t recording_name_some(struct recording *recording, const struct report_names *names,
			     uint32_t most)
{
	_cleanup_free_ struct some_frames *some = malloc(sizeof(*some));
	struct recording_limit was = recording->limit;
	int err;

	if (!some || !recording->made || recording->error || recording->full)
		return 0;
	look_for_names(&recording->rows, names,
		       most < RECORDING_NAMED_AT_ONCE ? most : RECORDING_NAMED_AT_ONCE, some);
	if (!some->count || recording_db_run(recording->db, "BEGIN IMMEDIATE") < 0)
		return 0;
	err = end_transaction(recording, put_some(recording, some, names));
	if (err < 0) {
		recording->limit = was;
		return 0;
	}
	for (uint32_t i = 0; i < some->count; i++)
		some->frame[i]->named = true;
	return some->count;
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

/* Where there is no room, the next interval waits for it, too. */
static int part_ended(struct recording *recording, int err)
{
	struct before was = before(recording);

	if (is_full(err) && !recording->ended)
		err = wait_for_room(recording, &was, recording->until);
	return err < 0 ? say_error(recording, err) : 0;
}

static int commit_part(struct recording *recording, int err)
{
	return part_ended(recording, end_transaction(recording, err));
}

/* A transaction of its own, for what is not part of an interval. As begin. */
static int begin_part(struct recording *recording)
{
	int err = recording->error;

	if (err < 0)
		return err;
	if (recording->full)
		return 1;
	err = begin(recording);
	return err < 0 ? commit_part(recording, err) : err;
}

int recording_add_leaks(struct recording *recording, const struct leak_report *leaks)
{
	int err = begin_part(recording);

	if (err == 0)
		err = commit_part(recording, recording_leaks_put(recording->db, leaks));
	return err < 0 ? err : 0;
}

int recording_add_lives(struct recording *recording, const struct site_lives *lives)
{
	int err = begin_part(recording);

	if (err == 0)
		err = commit_part(recording, recording_lives_put(recording->db, lives));
	return err < 0 ? err : 0;
}

int recording_add_blocks(struct recording *recording, const struct block_list *blocks)
{
	int err = begin_part(recording);

	if (err == 0)
		err = commit_part(recording, recording_blocks_put(recording->db, blocks));
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
	return part_ended(recording, err);
}

int recording_close(struct recording *recording)
{
	int err;

	if (!recording)
		return 0;
	recording_end_statements(recording);
	if (recording->full && !recording->error)
		(void)say_error(recording, -ENOSPC);
	/*
	 * From now on it is one file that needs no log, wherever it is copied. Somebody who reads
	 * it just now keeps the log, and loses nothing. Only the first page says so: see open.c.
	 */
	err = recording_db_run(recording->db, "PRAGMA journal_mode=MEMORY");
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
