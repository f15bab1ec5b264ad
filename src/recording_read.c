/* SPDX-License-Identifier: MIT */
/*
 * recording_read.c - from the tables back to a snapshot, stacks and names.
 *
 * A recording may come from anywhere: it is opened read-only with SQLite's
 * defensive settings, files with views, triggers, computed columns or virtual
 * tables are refused (they could run for ever), numbers that index something are
 * bounded, and rows that refer to nothing are left out rather than followed.
 * Figures are taken as they are.
 *
 * A recording whose end is missing (killed, disk full) has frames without
 * symbols: they get their module and offset.
 */
#include "src/recording.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "src/recording_blocks.h"
#include "src/recording_db.h"
#include "src/recording_leaks.h"
#include "src/recording_lives.h"
#include "src/recording_series.h"
#include "src/recording_wrong_frees.h"
#include "src/recording_schema.h"

#define MAX_ID (1u << 28)

/* One machine frame and its source-level frames. */
struct named_frame {
	struct frame frame;
	size_t count;
	struct symbol_frame *symbol;
	UT_hash_handle hh;
};

/* A recorded module, where no symbol was recorded. */
struct named_module {
	uint32_t id;
	char *path, *build_id;
	UT_hash_handle hh;
};

struct recording_names {
	struct named_frame **by_id;	/* frame id - 1; borrowed from frames */
	uint32_t frame_count;
	struct named_frame *frames;	/* a uthash */
	struct named_module *modules;	/* a uthash */
	char **string;			/* all strings of symbols */
	size_t string_count, string_capacity;
	uint32_t *stack_id;		/* in the file - 1 -> in struct stacks */
	uint32_t stack_count;
};

struct reading {
	sqlite3 *db;
	struct snapshot *snapshot;
	struct stacks *stacks;
	struct recording_names *names;
	/* The stack being put together. */
	uint32_t stack, frame_count;
	struct frame frame[STACKS_MAX_FRAMES];
};

/* Calls each() for every row of sql; its first error ends it. 0 or -errno. */
static int query(struct reading *reading, const char *sql,
		 int (*each)(struct reading *reading, struct row *row))
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err, result = sqlite3_prepare_v2(reading->db, sql, -1, &statement, NULL);

	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		err = each(reading, &(struct row){ .statement = statement });
		if (err < 0)
			return err;
	}
	return recording_db_errno(reading->db, result);
}

/* Makes room for one more in an array that grows by doubling at powers of two. */
static void *grow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? count * 2 : 1, size);
}

#define GROW(array, count) ({ \
	void *grown_ = grow(array, count, sizeof(*(array))); \
	if (grown_) \
		(array) = grown_; \
	grown_ != NULL; \
})

static char *text_or_empty(struct row *row)
{
	char *text = row_text(row);

	return text ? text : strdup("");
}

static int read_target(struct reading *reading, struct row *row)
{
	struct snapshot_target *target = &reading->snapshot->target;

	if (target->exe)
		return 0;
	target->pid = (int)row_uint32(row, INT32_MAX);
	target->exe = text_or_empty(row);
	target->cmdline = text_or_empty(row);
	target->start_time = row_real(row);
	target->threads = row_uint32(row, UINT32_MAX);
	target->rss_bytes = row_uint(row);
	target->vsz_bytes = row_uint(row);
	return target->exe && target->cmdline ? 0 : -ENOMEM;
}

static int read_allocator(struct reading *reading, struct row *row)
{
	struct snapshot_target *target = &reading->snapshot->target;
	struct snapshot_allocator *allocator;

	if (!GROW(target->allocator, target->allocator_count))
		return -ENOMEM;
	allocator = &target->allocator[target->allocator_count++];
	*allocator = (struct snapshot_allocator){ 0 };
	row->next++;	/* the id: rows come in its order */
	allocator->name = text_or_empty(row);
	allocator->version = text_or_empty(row);
	allocator->module = text_or_empty(row);
	return allocator->name && allocator->version && allocator->module ? 0 : -ENOMEM;
}

static int read_entry_point(struct reading *reading, struct row *row)
{
	struct snapshot_target *target = &reading->snapshot->target;
	uint64_t at = row_uint(row);
	struct snapshot_allocator *allocator;

	if (at >= target->allocator_count)
		return 0;
	allocator = &target->allocator[at];
	if (!GROW(allocator->hooked, allocator->hooked_count))
		return -ENOMEM;
	allocator->hooked[allocator->hooked_count] = text_or_empty(row);
	return allocator->hooked[allocator->hooked_count++] ? 0 : -ENOMEM;
}

static int read_session(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_session *session = &snapshot->session;

	if (session->version)
		return 0;
	session->version = text_or_empty(row);
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
	snapshot->site_peaks = true;	/* unless some site's are not */
	return session->version ? 0 : -ENOMEM;
}

static int read_totals(struct reading *reading, struct row *row)
{
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
	return 0;
}

static int read_point(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;
	struct timeline_point *point;

	if (!GROW(snapshot->timeline, snapshot->timeline_count))
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
	return 0;
}

static int read_bar(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;

	if (!GROW(snapshot->histogram, snapshot->histogram_count))
		return -ENOMEM;
	snapshot->histogram[snapshot->histogram_count].size = row_uint(row);
	snapshot->histogram[snapshot->histogram_count++].count = row_uint(row);
	return 0;
}

static int read_module(struct reading *reading, struct row *row)
{
	struct named_module *module = calloc(1, sizeof(*module)), *known;

	if (!module)
		return -ENOMEM;
	module->id = row_uint32(row, UINT32_MAX);
	module->path = text_or_empty(row);
	module->build_id = text_or_empty(row);
	HASH_FIND(hh, reading->names->modules, &module->id, sizeof(module->id), known);
	if (known || !module->path || !module->build_id) {
		free(module->path);
		free(module->build_id);
		free(module);
		return known ? 0 : -ENOMEM;
	}
	HASH_ADD(hh, reading->names->modules, id, sizeof(module->id), module);
	return 0;
}

/* Frames come in the order of their ids, which are 1, 2, 3: anything else is not ours. */
static int read_frame(struct reading *reading, struct row *row)
{
	struct recording_names *names = reading->names;
	struct named_frame *named, *known;

	if (row_uint(row) != names->frame_count + 1u)
		return -EBADMSG;
	if (!GROW(names->by_id, names->frame_count))
		return -ENOMEM;
	named = calloc(1, sizeof(*named));
	if (!named)
		return -ENOMEM;
	named->frame.module = row_uint32(row, UINT32_MAX);
	named->frame.offset = row_uint(row);
	named->frame.flags = row_uint32(row, UINT32_MAX);
	HASH_FIND(hh, names->frames, &named->frame, sizeof(named->frame), known);
	if (known) {
		free(named);
		return -EBADMSG;
	}
	HASH_ADD(hh, names->frames, frame, sizeof(named->frame), named);
	names->by_id[names->frame_count++] = named;
	return 0;
}

static struct named_frame *frame_by_id(const struct recording_names *names, uint64_t id)
{
	return id == 0 || id > names->frame_count ? NULL : names->by_id[id - 1];
}

/* Keeps text for the life of names. NULL stays NULL; *ret_error when out of memory. */
static const char *keep_text(struct recording_names *names, struct row *row, int *ret_error)
{
	char *text = row_text(row);

	if (!text)
		return NULL;
	if (!GROW(names->string, names->string_count)) {
		free(text);
		*ret_error = -ENOMEM;
		return NULL;
	}
	names->string[names->string_count++] = text;
	return text;
}

static int read_symbol(struct reading *reading, struct row *row)
{
	struct recording_names *names = reading->names;
	struct named_frame *named = frame_by_id(names, row_uint(row));
	struct symbol_frame *symbol;
	int err = 0;

	if (!named)
		return 0;
	if (!GROW(named->symbol, named->count))
		return -ENOMEM;
	symbol = &named->symbol[named->count++];
	*symbol = (struct symbol_frame){ 0 };
	row->next++;	/* the depth: rows come in its order */
	symbol->function = keep_text(names, row, &err);
	symbol->function_offset = row_uint(row);
	symbol->file = keep_text(names, row, &err);
	symbol->line = row_uint32(row, UINT32_MAX);
	symbol->column = row_uint32(row, UINT32_MAX);
	symbol->module = keep_text(names, row, &err);
	symbol->build_id = keep_text(names, row, &err);
	symbol->offset = row_uint(row);
	symbol->inlined = row_bool(row);
	symbol->module = symbol->module ? symbol->module : "";
	symbol->build_id = symbol->build_id ? symbol->build_id : "";
	return err;
}

/* Frames that were never named: module and offset of (about) the call. */
static int name_by_module(struct recording_names *names, struct named_frame *named)
{
	const struct frame *frame = &named->frame;
	struct named_module *module;

	HASH_FIND(hh, names->modules, &frame->module, sizeof(frame->module), module);
	named->symbol = calloc(1, sizeof(*named->symbol));
	if (!named->symbol)
		return -ENOMEM;
	named->count = 1;
	named->symbol->module = module ? module->path : "";
	named->symbol->build_id = module ? module->build_id : "";
	named->symbol->offset = frame->offset - (frame->flags & FRAME_RETURN ? 1 : 0);
	return 0;
}

static int name_the_rest(struct recording_names *names)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < names->frame_count; i++) {
		if (names->by_id[i]->count == 0)
			err = name_by_module(names, names->by_id[i]);
	}
	return err;
}

/* One row per frame of a stack; the stack's id changes where the next one begins. */
static int end_stack(struct reading *reading, uint32_t flags)
{
	uint32_t id = 0;
	int err = stacks_intern(reading->stacks, reading->frame, reading->frame_count, flags, &id);

	if (err < 0)
		return err;
	if (!GROW(reading->names->stack_id, reading->names->stack_count))
		return -ENOMEM;
	reading->names->stack_id[reading->names->stack_count++] = id;
	return 0;
}

static int read_stack_frame(struct reading *reading, struct row *row)
{
	const struct named_frame *named = frame_by_id(reading->names, row_uint(row));

	if (named && reading->frame_count < STACKS_MAX_FRAMES)
		reading->frame[reading->frame_count++] = named->frame;
	return 0;
}

static int read_stacks(struct reading *reading)
{
	_cleanup_(recording_db_done) sqlite3_stmt *stacks = NULL, *frames = NULL;
	int err = 0, result = sqlite3_prepare_v2(reading->db,
		"SELECT id, flags FROM stacks ORDER BY id", -1, &stacks, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_prepare_v2(reading->db, "SELECT frame FROM stack_frames "
					    "WHERE stack = ? ORDER BY depth", -1, &frames, NULL);
	while (err == 0 && result == SQLITE_OK && sqlite3_step(stacks) == SQLITE_ROW) {
		struct row row = { .statement = stacks };

		if (row_uint(&row) != reading->names->stack_count + 1u)
			return -EBADMSG;
		reading->frame_count = 0;
		sqlite3_bind_int64(frames, 1, (sqlite3_int64)reading->names->stack_count + 1);
		while (err == 0 && sqlite3_step(frames) == SQLITE_ROW)
			err = read_stack_frame(reading, &(struct row){ .statement = frames });
		sqlite3_reset(frames);
		if (err == 0)
			err = end_stack(reading, row_uint32(&row, UINT32_MAX));
	}
	return err < 0 ? err : recording_db_errno(reading->db, sqlite3_errcode(reading->db));
}

static uint32_t stack_by_id(const struct recording_names *names, uint64_t id)
{
	return id == 0 || id > names->stack_count ? 0 : names->stack_id[id - 1];
}

static int read_site(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_site *s;

	if (!GROW(snapshot->site, snapshot->site_count))
		return -ENOMEM;
	s = &snapshot->site[snapshot->site_count++];
	*s = (struct snapshot_site){ 0 };
	s->id = row_uint32(row, MAX_ID);
	s->stack = stack_by_id(reading->names, row_uint(row));
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
	return 0;
}

static int read_leak(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;
	struct snapshot_leak *leak;

	if (!GROW(snapshot->leak, snapshot->leak_count))
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
static int read_leak_address(struct reading *reading, struct row *row)
{
	struct snapshot *snapshot = reading->snapshot;
	uint32_t site = row_uint32(row, MAX_ID);

	for (; reading->stack < snapshot->leak_count; reading->stack++) {
		struct snapshot_leak *leak = &snapshot->leak[reading->stack];

		if (leak->site != site)
			continue;
		if (leak->address_count < SNAPSHOT_MAX_ADDRESSES)
			leak->address[leak->address_count++] = row_uint(row);
		break;
	}
	return 0;
}

static int refuse(struct reading *reading, struct row *row)
{
	(void)reading;
	(void)row;
	return -EBADMSG;
}

static int check_application(struct reading *reading, struct row *row)
{
	(void)reading;
	return row_uint(row) == RECORDING_APPLICATION_ID ? 0 : -EBADMSG;
}

static int check_version(struct reading *reading, struct row *row)
{
	uint64_t version = row_uint(row);

	(void)reading;
	if (version > RECORDING_VERSION)
		return -EPROTONOSUPPORT;
	return version == RECORDING_VERSION ? 0 : -EBADMSG;
}

#define SITE_ORDER "ORDER BY live_bytes DESC, alloc_bytes DESC, id"
#define LEAK_ORDER "ORDER BY sites.live_bytes DESC, sites.alloc_bytes DESC, sites.id"

/* All queries, in the order in which later ones need earlier ones. */
static const struct {
	const char *sql;
	int (*each)(struct reading *reading, struct row *row);
} queries[] = {
	{ "PRAGMA application_id", check_application },
	{ "PRAGMA user_version", check_version },
	{ "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger') OR "
	  "(type = 'table' AND rootpage = 0)", refuse },	/* or virtual */
	{ "SELECT 1 FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS x "
	  "WHERE m.type = 'table' AND x.hidden", refuse },	/* computed columns */
	{ "SELECT * FROM target", read_target },
	{ "SELECT * FROM allocators ORDER BY id", read_allocator },
	{ "SELECT * FROM entry_points ORDER BY rowid", read_entry_point },
	{ "SELECT * FROM session", read_session },
	{ "SELECT * FROM snapshots ORDER BY id DESC LIMIT 1", read_totals },
	{ "SELECT * FROM timeline ORDER BY id", read_point },
	{ "SELECT * FROM histogram ORDER BY size", read_bar },
	{ "SELECT * FROM modules", read_module },
	{ "SELECT * FROM frames ORDER BY id", read_frame },
	{ "SELECT * FROM symbols ORDER BY frame, depth", read_symbol },
};
static const struct {
	const char *sql;
	int (*each)(struct reading *reading, struct row *row);
} site_queries[] = {
	{ "SELECT * FROM sites " SITE_ORDER, read_site },
	{ "SELECT leaks.* FROM leaks JOIN sites ON sites.id = leaks.site " LEAK_ORDER, read_leak },
	{ "SELECT leak_addresses.site, address FROM leak_addresses "
	  "JOIN sites ON sites.id = leak_addresses.site " LEAK_ORDER ", number",
	  read_leak_address },
};

static int read_all(struct reading *reading)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(queries); i++)
		err = query(reading, queries[i].sql, queries[i].each);
	if (err == 0)
		err = name_the_rest(reading->names);
	if (err == 0)
		err = read_stacks(reading);
	reading->stack = 0;
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(site_queries); i++)
		err = query(reading, site_queries[i].sql, site_queries[i].each);
	if (err == 0 && (!reading->snapshot->session.version || !reading->snapshot->target.exe))
		err = -ENODATA;
	return err;
}

static void close_db(sqlite3 **db)
{
	sqlite3_close(*db);
}

static const struct symbol_frame *frame_by_names(void *context, const struct frame *frame,
						 size_t *ret_count)
{
	static const struct symbol_frame unknown = { .module = "", .build_id = "" };
	const struct recording_names *names = context;
	struct frame key = { .module = frame->module, .flags = frame->flags,
			     .offset = frame->offset };
	struct named_frame *named;

	HASH_FIND(hh, names->frames, &key, sizeof(key), named);
	*ret_count = named ? named->count : 1;
	return named ? named->symbol : &unknown;
}

int recording_read(const char *path, struct recording_content *ret)
{
	_cleanup_(recording_content_done) struct recording_content content = { 0 };
	_cleanup_(close_db) sqlite3 *db = NULL;
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));
	int err = recording_db_open(path, &db);

	content.own = calloc(1, sizeof(*content.own));
	if (!reading || !content.own || snapshot_new(&content.snapshot) < 0 ||
	    stacks_new(&content.stacks) < 0)
		return -ENOMEM;
	reading->db = db;
	reading->snapshot = content.snapshot;
	reading->stacks = content.stacks;
	reading->names = content.own;
	if (err == 0)
		err = read_all(reading);
	if (err == 0)
		err = recording_wrong_frees_read(db, content.own->stack_id,
						 content.own->stack_count, content.snapshot);
	if (err == 0)
		err = recording_leaks_read(db, &content.leaks);
	if (err == 0)
		err = recording_lives_read(db, &content.lives);
	if (err == 0)
		err = recording_blocks_read(db, &content.blocks);
	if (err == 0)
		err = recording_series_read(db, content.snapshot, &content.trend, &content.looks);
	if (err < 0)
		return err;
	content.names = (struct report_names){ frame_by_names, content.own };
	*ret = content;
	content = (struct recording_content){ 0 };
	return 0;
}

const char *recording_build_id(const struct recording_content *content, uint32_t module)
{
	struct named_module *known;

	HASH_FIND(hh, content->own->modules, &module, sizeof(module), known);
	return known ? known->build_id : "";
}

bool recording_has_build_id(const struct recording_content *content, const char *build_id)
{
	for (struct named_module *m = content->own->modules; m; m = m->hh.next)
		if (build_id[0] && strcmp(m->build_id, build_id) == 0)
			return true;
	return false;
}

static void names_free(struct recording_names *names)
{
	struct named_frame *frame, *next_frame;
	struct named_module *module, *next_module;

	if (!names)
		return;
	HASH_ITER(hh, names->frames, frame, next_frame) {
		HASH_DEL(names->frames, frame);
		free(frame->symbol);
		free(frame);
	}
	HASH_ITER(hh, names->modules, module, next_module) {
		HASH_DEL(names->modules, module);
		free(module->path);
		free(module->build_id);
		free(module);
	}
	for (size_t i = 0; i < names->string_count; i++)
		free(names->string[i]);
	free(names->string);
	free(names->by_id);
	free(names->stack_id);
	free(names);
}

void recording_content_done(struct recording_content *content)
{
	snapshot_free(content->snapshot);
	stacks_free(content->stacks);
	leak_report_free(content->leaks);
	site_lives_free(content->lives);
	block_list_free(content->blocks);
	free(content->trend);
	names_free(content->own);
	*content = (struct recording_content){ 0 };
}
