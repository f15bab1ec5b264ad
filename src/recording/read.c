/* SPDX-License-Identifier: MIT */
/*
 * read.c - from the tables back to a snapshot, stacks and names.
 *
 * A recording may come from anywhere: it is opened read-only with SQLite's
 * defensive settings, files with views, triggers, computed columns or virtual
 * tables are refused (they could run for ever), numbers that index something are
 * bounded, and rows that refer to nothing are left out rather than followed.
 * Figures are taken as they are.
 *
 * What a report can do without (lifetimes, the course of sites) does not take the rest with it
 * when it is damaged: it is left out, with a warning.
 */
#include "src/recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/recording/bounds.h"
#include "src/recording/counted.h"
#include "src/recording/damage.h"
#include "src/recording/db.h"
#include "src/recording/extent.h"
#include "src/recording/heaps.h"
#include "src/recording/lives.h"
#include "src/recording/moment.h"
#include "src/recording/reallocs.h"
#include "src/recording/recorded_blocks.h"
#include "src/recording/recorded_leaks.h"
#include "src/recording/recorded_names.h"
#include "src/recording/recorded_regions.h"
#include "src/recording/recorded_threads.h"
#include "src/recording/recorded_wrong_frees.h"
#include "src/recording/series.h"
#include "src/recording/unnamed.h"

#define MAX_ID (1u << 28)

struct reading {
	struct snapshot *snapshot;
	const struct recording_names *names;
	size_t leak;		/* whose addresses come */
};

static int read_target(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot_target *target = &reading->snapshot->target;

	if (target->exe)
		return 0;
	target->pid = (int)row_uint32(row, INT32_MAX);
	target->exe = row_text_or_empty(row);
	target->cmdline = row_text_or_empty(row);
	target->start_time = row_real(row);
	target->threads = row_uint32(row, UINT32_MAX);
	target->rss_bytes = row_uint(row);
	target->vsz_bytes = row_uint(row);
	target->owner = row_uint32(row, UINT32_MAX);
	return target->exe && target->cmdline ? 0 : -ENOMEM;
}

static int read_allocator(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot_target *target = &reading->snapshot->target;
	struct snapshot_allocator *allocator;

	if (!RECORDING_GROW(target->allocator, target->allocator_count))
		return -ENOMEM;
	allocator = &target->allocator[target->allocator_count++];
	*allocator = (struct snapshot_allocator){ 0 };
	row->next++;	/* the id: rows come in its order */
	allocator->name = row_text_or_empty(row);
	allocator->version = row_text_or_empty(row);
	allocator->module = row_text_or_empty(row);
	return allocator->name && allocator->version && allocator->module ? 0 : -ENOMEM;
}

static int read_entry_point(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot_target *target = &reading->snapshot->target;
	uint64_t at = row_uint(row);
	struct snapshot_allocator *allocator;
	char *name;

	if (at >= target->allocator_count)
		return 0;
	allocator = &target->allocator[at];
	if (!RECORDING_GROW(allocator->hooked, allocator->hooked_count) ||
	    !RECORDING_GROW(allocator->unhooked, allocator->unhooked_count))
		return -ENOMEM;
	name = row_text_or_empty(row);
	if (!name)
		return -ENOMEM;
	if (row_bool(row))
		allocator->unhooked[allocator->unhooked_count++] = name;
	else
		allocator->hooked[allocator->hooked_count++] = name;
	return 0;
}

static void read_memory(struct snapshot_memory *memory, struct row *row)
{
	memory->limit_bytes = row_uint(row);
	memory->used_bytes = row_uint(row);
	memory->peak_bytes = row_uint(row);
	memory->evicted_sites = row_uint(row);
	memory->evicted_stacks = row_uint(row);
	memory->evicted_alloc_count = row_uint(row);
	memory->evicted_alloc_bytes = row_uint(row);
	memory->thinned_blocks = row_uint(row);
	memory->thinned_bytes = row_uint(row);
	memory->thinned_interval_bytes = row_uint(row);
}

static int read_session(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_session *session = &snapshot->session;

	if (session->version)
		return 0;
	session->version = row_text_or_empty(row);
	session->mode = (enum snapshot_mode)row_uint32(row, SNAPSHOT_COUNTS);
	session->loader = (enum snapshot_loader)row_uint32(row, SNAPSHOT_LOADER_MAP);
	session->begin_time = row_real(row);
	session->duration = row_real(row);
	session->sample_interval_bytes = row_uint(row);
	session->overhead_percent = row_real(row);
	session->attach_stop_us_max = row_uint(row);
	session->detach_stop_us_max = row_uint(row);
	session->threads_stopped = row_uint32(row, UINT32_MAX);
	session->detached = (enum snapshot_detached)row_uint32(row, SNAPSHOT_TARGET_ENDED);
	session->events.alloc = row_uint(row);
	session->events.free = row_uint(row);
	session->events.map = row_uint(row);
	session->events.unmap = row_uint(row);
	session->lost.alloc = row_uint(row);
	session->lost.free = row_uint(row);
	session->lost.stack = row_uint(row);
	session->lost.map = row_uint(row);
	session->lost.alloc_bytes = row_uint(row);
	session->stacks.distinct = row_uint(row);
	session->stacks.unwound = row_uint(row);
	session->stacks.truncated = row_uint(row);
	session->stacks.recognised = row_uint(row);
	session->blocked_seconds = row_real(row);
	session->corrupt = row_uint(row);
	session->gaps = row_uint(row);
	session->gap_seconds = row_real(row);
	snapshot->exact = row_bool(row);
	snapshot->every_alloc = row_bool(row);
	snapshot->complete = row_bool(row);
	snapshot->has_leaks = row_bool(row);
	snapshot->site_peaks = snapshot->site_intervals = true;	/* unless some site's are not */
	session->max_recording = row_uint(row);
	session->given_up = row_uint(row);
	session->stacks.audited = row_uint(row);
	session->stacks.mismatched = row_uint(row);
	read_memory(&session->memory, row);
	session->lost.hidden = row_uint(row);
	session->lost.hidden_bytes = row_uint(row);
	session->started = row_bool(row);
	return session->version ? 0 : -ENOMEM;
}

#define INTERVAL_COLUMNS 14

static void read_bounds(struct row *row, struct snapshot_bounds *to)
{
	to->low = row_uint(row);
	to->high = row_uint(row);
}

/* False: an older recording, which does not have them. */
static bool read_intervals(struct row *row, struct snapshot_intervals *to)
{
	bool known = sqlite3_column_count(row->statement) >= row->next + INTERVAL_COLUMNS;

	read_bounds(row, &to->alloc_count);
	read_bounds(row, &to->alloc_bytes);
	read_bounds(row, &to->free_count);
	read_bounds(row, &to->free_bytes);
	read_bounds(row, &to->live_count);
	read_bounds(row, &to->peak_live_bytes);
	read_bounds(row, &to->temporary_count);
	return known;
}

static int read_totals(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot_totals *t = &reading->snapshot->totals;
	struct snapshot_map_totals *m = &reading->snapshot->map_totals;

	row->next = 2;	/* behind id and time */
	t->alloc_count = row_uint(row);
	t->alloc_bytes = row_uint(row);
	t->free_count = row_uint(row);
	t->free_bytes = row_uint(row);
	t->double_free_count = row_uint(row);
	t->illegal_free_count = row_uint(row);
	t->free_unknown_count = row_uint(row);
	t->temporary_count = row_uint(row);
	t->overhead_bytes = row_uint(row);
	t->live_count = row_uint(row);
	t->live_bytes = row_uint(row);
	t->peak_live_bytes = row_uint(row);
	t->live_bytes_low = row_uint(row);
	t->live_bytes_high = row_uint(row);
	t->missed_free_count = row_uint(row);
	t->untracked_count = row_uint(row);
	t->samples = row_uint(row);
	m->map_count = row_uint(row);
	m->map_bytes = row_uint(row);
	m->unmap_count = row_uint(row);
	m->unmap_bytes = row_uint(row);
	m->live_count = row_uint(row);
	m->live_bytes = row_uint(row);
	m->peak_live_bytes = row_uint(row);
	m->allocator_live_bytes = row_uint(row);
	m->unmap_unknown_bytes = row_uint(row);
	reading->snapshot->reason = (enum snapshot_reason)row_uint32(row, SNAPSHOT_SIGNAL);
	reading->snapshot->intervals = read_intervals(row, &t->in);
	return 0;
}

#define POINT_ENDS	8	/* columns of ends, before that which says whether they are known */

static bool has_column(const struct row *row, int column)
{
	return sqlite3_column_count(row->statement) > column &&
	       sqlite3_column_type(row->statement, column) != SQLITE_NULL;
}

/* NULL: the value itself. */
static uint64_t read_one_end(struct row *row, uint64_t value)
{
	bool other = has_column(row, row->next);
	uint64_t end = row_uint(row);

	return other ? end : value;
}

static void read_ends(struct row *row, uint64_t value, struct timeline_bounds *to)
{
	to->low = read_one_end(row, value);
	to->high = read_one_end(row, value);
}

static int read_point(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	struct timeline_point *point;

	if (!RECORDING_GROW(snapshot->timeline, snapshot->timeline_count))
		return -ENOMEM;
	point = &snapshot->timeline[snapshot->timeline_count++];
	row->next++;
	point->time = row_real(row);
	point->alloc_count = row_uint(row);
	point->free_count = row_uint(row);
	point->alloc_bytes = row_uint(row);
	point->live_bytes = row_uint(row);
	point->rss_bytes = row_uint(row);
	point->vsz_bytes = row_uint(row);
	/* Columns that older recordings do not have. */
	point->trend_known = has_column(row, row->next);
	point->trend_bytes = (int64_t)row_uint(row);
	if (!point->trend_known)
		point->trend_bytes = 0;
	point->sample_interval = row_uint(row);
	point->bounded = has_column(row, row->next + POINT_ENDS);
	read_ends(row, point->alloc_count, &point->in.alloc_count);
	read_ends(row, point->free_count, &point->in.free_count);
	read_ends(row, point->alloc_bytes, &point->in.alloc_bytes);
	read_ends(row, point->live_bytes, &point->in.live_bytes);
	point->lost = row_bool(row);
	return 0;
}

static int read_bar(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;

	if (!RECORDING_GROW(snapshot->histogram, snapshot->histogram_count))
		return -ENOMEM;
	snapshot->histogram[snapshot->histogram_count].size = row_uint(row);
	snapshot->histogram[snapshot->histogram_count++].count = row_uint(row);
	return 0;
}

static int read_site(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_site *s;

	if (!RECORDING_GROW(snapshot->site, snapshot->site_count))
		return -ENOMEM;
	s = &snapshot->site[snapshot->site_count++];
	*s = (struct snapshot_site){ 0 };
	s->id = row_uint32(row, MAX_ID);
	s->stack = recording_names_stack(reading->names, row_uint(row));
	s->kind = (enum site_kind)row_uint32(row, SITE_CUSTOM);
	s->skip_frames = (uint16_t)row_uint32(row, STACKS_MAX_FRAMES);
	s->verdict = (enum snapshot_verdict)row_uint32(row, SNAPSHOT_FREED);
	s->live_count = row_uint(row);
	s->live_bytes = row_uint(row);
	s->live_bytes_low = row_uint(row);
	s->live_bytes_high = row_uint(row);
	s->alloc_count = row_uint(row);
	s->alloc_bytes = row_uint(row);
	s->free_count = row_uint(row);
	s->peak_live_bytes = row_uint(row);
	s->temporary_count = row_uint(row);
	s->samples = row_uint(row);
	s->threads = row_uint32(row, UINT32_MAX);
	s->lifetime_p50 = row_real(row);
	s->lifetime_p90 = row_real(row);
	s->lifetime_max = row_real(row);
	s->first_time = row_real(row);
	s->last_time = row_real(row);
	s->growth = row_real(row);
	s->growth_low = row_real(row);
	s->growth_high = row_real(row);
	/* Columns that older recordings do not have. */
	snapshot->site_peaks &= sqlite3_column_count(row->statement) >= row->next + 4;
	s->at_peak_bytes = row_uint(row);
	s->at_peak_count = row_uint(row);
	s->size_low = row_uint(row);
	s->size_high = row_uint(row);
	snapshot->site_intervals &= read_intervals(row, &s->in);
	for (size_t i = 0; i < ARRAY_SIZE(s->sizes.word); i++)
		s->sizes.word[i] = row_uint(row);
	return 0;
}

static int read_leak(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_leak *leak;

	if (!RECORDING_GROW(snapshot->leak, snapshot->leak_count))
		return -ENOMEM;
	leak = &snapshot->leak[snapshot->leak_count++];
	*leak = (struct snapshot_leak){ 0 };
	leak->site = row_uint32(row, MAX_ID);
	leak->count = row_uint(row);
	leak->bytes = row_uint(row);
	leak->oldest = row_real(row);
	return 0;
}

/* Rows come by site, in the order of leaks: the leak they belong to is found by a walk. */
static int read_leak_address(void *context, struct row *row)
{
	struct reading *reading = context;
	struct snapshot *snapshot = reading->snapshot;
	uint32_t site = row_uint32(row, MAX_ID);

	for (; reading->leak < snapshot->leak_count; reading->leak++) {
		struct snapshot_leak *leak = &snapshot->leak[reading->leak];

		if (leak->site != site)
			continue;
		if (leak->address_count < SNAPSHOT_MAX_ADDRESSES)
			leak->address[leak->address_count++] = row_uint(row);
		break;
	}
	return 0;
}

#define SITE_ORDER "ORDER BY live_bytes DESC, alloc_bytes DESC, id"
#define LEAK_ORDER "ORDER BY sites.live_bytes DESC, sites.alloc_bytes DESC, sites.id"

/* All queries, in the order in which later ones need earlier ones. */
static const struct {
	const char *sql;
	int (*each)(void *context, struct row *row);
} queries[] = {
	{ "SELECT * FROM target", read_target },
	{ "SELECT * FROM allocators ORDER BY id", read_allocator },
	{ "SELECT * FROM entry_points ORDER BY rowid", read_entry_point },
	{ "SELECT * FROM session", read_session },
	{ "SELECT * FROM snapshots WHERE id = ?1", read_totals },
	{ "SELECT * FROM timeline ORDER BY id", read_point },
	{ "SELECT * FROM histogram ORDER BY size", read_bar },
	{ "SELECT * FROM sites " SITE_ORDER, read_site },
	{ "SELECT leaks.* FROM leaks JOIN sites ON sites.id = leaks.site " LEAK_ORDER, read_leak },
	{ "SELECT leak_addresses.site, address FROM leak_addresses "
	  "JOIN sites ON sites.id = leak_addresses.site " LEAK_ORDER ", number",
	  read_leak_address },
};

/* Sites that were evicted before the end have nothing there (series.c). */
static void leave_out_evicted(struct snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->site_count; i++)
		if (snapshot->site[i].alloc_count)
			snapshot->site[count++] = snapshot->site[i];
	snapshot->site_count = count;
}

static int read_snapshot(sqlite3 *db, struct recording_content *content, uint64_t id)
{
	struct reading reading = { .snapshot = content->snapshot, .names = content->own };
	int err = recording_names_read(db, content->own, content->stacks);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(queries); i++)
		err = recording_db_query(db, queries[i].sql, id, queries[i].each, &reading);
	if (err == 0 && (!content->snapshot->session.version || !content->snapshot->target.exe))
		err = -ENODATA;
	return err;
}

/* What can be done without; err of the part that was to be read. */
static int spare(struct recording_content *content, int err, const char *what)
{
	size_t used = strlen(content->warning);

	if (err != -EBADMSG || recording_bounds_exceeded())
		return err;
	(void)snprintf(content->warning + used, sizeof(content->warning) - used, "%s%s (%s)",
		       used ? "; " : "it is damaged; left out: ", what, recording_damage_cause());
	recording_damage_forget();
	return 0;
}

/* What is known of the end alone. */
static int read_end(sqlite3 *db, struct recording_content *content)
{
	int err;

	if (content->snapshot->session.memory.evicted_sites)
		leave_out_evicted(content->snapshot);
	err = recording_wrong_frees_read(db, content->own, content->snapshot);

	if (err == 0)
		err = recording_leaks_read(db, &content->leaks);
	if (err == 0)
		err = spare(content, recording_lives_read(db, &content->lives),
			    "lifetimes of blocks");
	if (err == 0)
		err = spare(content, recording_blocks_read(db, &content->blocks), "blocks");
	if (err == 0)
		err = spare(content, recording_regions_read(db, &content->regions),
			    "mappings");
	if (err == 0)
		err = spare(content, recording_heaps_read(db, &content->heaps),
			    "figures of the heaps");
	if (err == 0)
		err = spare(content, recording_reallocs_read(db, content->own, content->snapshot),
			    "reallocs");
	if (err == 0)
		err = spare(content, recording_threads_read(db, &content->threads),
			    "threads");
	if (err == 0)
		err = spare(content, recording_series_read(db, content->snapshot, &content->trend,
							   &content->looks),
			    "the course of its sites");
	return err;
}

struct source {
	const char *path;
	const struct recording_unnamed *unnamed;	/* NULL: it is at path */
};

static int open_source(const struct source *source, sqlite3 **ret)
{
	struct stat file;

	if (!source->unnamed)
		return recording_db_open(source->path, ret);
	if (fstat(source->unnamed->file, &file) < 0)
		return -errno;
	return file.st_size > 0 ? recording_unnamed_open(source->unnamed, ret) : -ENODATA;
}

static int read_moment(const struct source *source, const struct recording_moment *moment,
		       struct recording_content *ret)
{
	_cleanup_(recording_content_done) struct recording_content content = { 0 };
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	struct recording_at at;
	int err = open_source(source, &db);

	content.own = calloc(1, sizeof(*content.own));
	content.path = strdup(source->path);
	if (!content.path || !content.own || snapshot_new(&content.snapshot) < 0 ||
	    stacks_new(&content.stacks) < 0)
		return -ENOMEM;
	if (err == 0)	/* all of one moment, also of one that is being written */
		err = recording_db_run(db, "BEGIN");
	if (err == 0)
		err = recording_db_check(db);
	if (err == 0)
		err = recording_moment_find(db, moment, &at);
	if (err == 0)
		err = read_snapshot(db, &content, at.snapshot);
	if (err == 0)
		err = at.is_end ? read_end(db, &content) :
				  recording_moment_apply(db, &at, content.snapshot);
	if (err == 0)
		err = recording_counted_read(db, at.snapshot, at.is_end, content.snapshot);
	if (err == 0)
		err = recording_extent_check(&content);
	if (err == 0 && recording_bounds_exceeded())
		err = recording_damage(NULL, RECORDING_BOUNDS_WORDS);
	if (err < 0)
		return err;
	content.snapshot_id = at.snapshot;
	content.names = (struct report_names){ .frame = recording_names_frame,
					       .context = content.own };
	*ret = content;
	content = (struct recording_content){ 0 };
	return 0;
}

int recording_read(const char *path, struct recording_content *ret)
{
	return read_moment(&(struct source){ path, NULL },
			   &(struct recording_moment){ .kind = RECORDING_END }, ret);
}

int recording_read_unnamed(const struct recording_unnamed *unnamed, const char *name,
			   struct recording_content *ret)
{
	return read_moment(&(struct source){ name, unnamed },
			   &(struct recording_moment){ .kind = RECORDING_END }, ret);
}

int recording_read_at(const char *name, struct recording_content *ret)
{
	_cleanup_free_ char *path = NULL;
	struct recording_moment moment;
	int err = recording_moment_parse(name, &path, &moment);

	return err < 0 ? err : read_moment(&(struct source){ path, NULL }, &moment, ret);
}

void recording_content_done(struct recording_content *content)
{
	free(content->path);
	snapshot_free(content->snapshot);
	stacks_free(content->stacks);
	leak_report_free(content->leaks);
	site_lives_free(content->lives);
	block_list_free(content->blocks);
	regions_free(content->regions);
	heap_figures_free(content->heaps);
	thread_table_free(content->threads);
	free(content->trend);
	recording_names_free(content->own);
	*content = (struct recording_content){ 0 };
}
