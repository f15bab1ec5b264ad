/* SPDX-License-Identifier: MIT */
/*
 * symbolize_recording.c - see symbolize_recording.h.
 *
 * Read, look, write: the recording is opened for writing only when all names are there, so that
 * looking, which may take minutes, locks nobody out. Names come from a child without privileges
 * (names/names.h), since the files may be hostile. What the recording has is replaced by
 * what says more, never by less.
 * Twice: a module whose lines were not found has its debug information fetched by debuginfod, and
 * is asked about again.
 */
#include "src/names/symbolize_recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/debuginfo/symbol_files.h"
#include "src/names/names.h"
#include "src/recording/bounds.h"
#include "src/recording/db.h"
#include "src/recording/recorded_names.h"
#include "src/recording/undo.h"

#define BUSY_MS	2000

/* A recorded module while its file is looked for. */
struct looking {
	const struct named_module *module;
	uint32_t id;			/* in modules; 0: no file */
	struct symbolized_module result;
	UT_hash_handle hh;
};
/* A frame of which something is missing, and the best that is known of it now. */
struct better {
	const struct named_frame *named;
	uint32_t id;			/* in the recording */
	struct looking *looking;	/* NULL: in no file */
	size_t count;			/* 0: nothing better */
	struct symbol_frame *symbol;	/* borrowed from the symbolizer */
};
struct work {
	struct recording_content content;
	struct symbol_files *files;
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct session_names *names;
	struct looking *looking;	/* a uthash, by module's id */
	struct better *frame;
	size_t frame_count;
};

/* ---- what is missing ---- */

static size_t worth(const struct symbol_frame *symbol, size_t count)
{
	size_t ret = 0;

	for (size_t i = 0; i < count; i++)
		ret += (symbol[i].function ? 2u : 0u) + (symbol[i].line ? 1u : 0u);
	return ret;
}

static bool is_complete(const struct named_frame *named)
{
	for (size_t i = 0; i < named->count; i++)
		if (!named->symbol[i].function || !named->symbol[i].line)
			return false;
	return named->recorded;
}

static struct looking *look_for(struct work *w, uint32_t id)
{
	struct named_module *module;
	struct looking *looking;

	HASH_FIND(hh, w->content.own->modules, &id, sizeof(id), module);
	if (!module || module->kind != MODULE_FILE)
		return NULL;
	HASH_FIND(hh, w->looking, &module, sizeof(module), looking);
	if (looking)
		return looking;
	looking = calloc(1, sizeof(*looking));
	if (!looking)
		return NULL;
	looking->module = module;
	HASH_ADD(hh, w->looking, module, sizeof(looking->module), looking);
	return looking;
}

static int list_frames(struct work *w, struct symbolized *ret)
{
	const struct recording_names *own = w->content.own;

	w->frame = calloc(own->frame_count + 1ull, sizeof(*w->frame));
	if (!w->frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->frame_count; i++) {
		const struct named_frame *named = own->by_id[i];
		struct looking *looking;

		if (is_complete(named))
			continue;
		looking = look_for(w, named->frame.module);
		if (looking)
			looking->result.wanted++;
		else if (!named->symbol[0].function)
			ret->elsewhere++;
		if (looking)
			w->frame[w->frame_count++] = (struct better){ named, i + 1, looking, 0,
								      NULL };
	}
	return 0;
}

/* ---- finding ---- */

static int find_file(struct work *w, struct looking *looking)
{
	const struct named_module *module = looking->module;
	struct symbolized_module *result = &looking->result;
	size_t bytes = 0;
	FILE *tried = open_memstream(&result->tried, &bytes);
	int err = tried ? 0 : -ENOMEM;

	if (err == 0)
		err = symbol_files_find(w->files, module->path, module->build_id, w->modules,
					tried, &looking->id);
	if (tried && fclose(tried) != 0)
		err = -ENOMEM;
	result->path = strdup(module->path);
	result->build_id = strdup(module->build_id);
	if (err == 0)
		result->found = strdup(modules_get(w->modules, looking->id)->path);
	if (!result->path || !result->build_id || (err == 0 && !result->found))
		return -ENOMEM;
	return err == -ENOENT ? 0 : err;
}

static void look_up(struct work *w, struct better *better)
{
	struct frame frame = better->named->frame;
	const struct symbol_frame *symbol;
	size_t count, known = worth(better->named->symbol, better->named->count);

	frame.module = better->looking->id;
	symbol = symbolizer_frame(w->symbolizer, &frame, &count);
	if (worth(symbol, count) <= known)
		return;
	better->symbol = (struct symbol_frame *)(uintptr_t)symbol;
	better->count = count;
}

/* Counts anew what frames of each module have. */
static void count_named(struct work *w)
{
	for (struct looking *l = w->looking; l; l = l->hh.next)
		l->result.named = l->result.lined = 0;
	for (size_t i = 0; i < w->frame_count; i++) {
		struct better *better = &w->frame[i];
		const struct symbol_frame *symbol = better->count ? better->symbol :
								     better->named->symbol;

		better->looking->result.named += symbol->function != NULL;
		better->looking->result.lined += symbol->line != 0;
	}
}

static int open_names(struct work *w)
{
	int err = symbolizer_new(w->modules, &w->symbolizer);
	struct file_reader reader;

	if (err == 0)
		err = session_names_new(w->modules, w->symbolizer, &w->names);
	if (err < 0)
		return err;
	file_reader_of_recording(w->content.path, w->content.snapshot->target.owner, &reader);
	session_names_confine(w->names, &reader);
	return 0;
}

/* True: debug information came that was not there before. */
static bool fetch_lines(struct work *w, struct looking *looking)
{
	struct symbolized_module *result = &looking->result;
	_cleanup_free_ char *text = NULL;
	size_t bytes = 0;
	FILE *tried;
	bool fetched;

	if (!looking->id || result->lined == result->wanted)
		return false;
	tried = open_memstream(&text, &bytes);
	if (!tried)
		return false;
	fetched = symbol_files_fetch_debug(w->files, looking->module->build_id, tried);
	if (fclose(tried) == 0 && text[0] && !strstr(result->tried, text)) {
		char *both = NULL;

		if (asprintf(&both, "%s%s%s", result->tried, result->tried[0] ? ", " : "",
			     text) >= 0) {
			free(result->tried);
			result->tried = both;
		}
	}
	return fetched;
}

static int find_names(struct work *w)
{
	struct session_names *first_names;
	struct symbolizer *first;
	bool more = false;
	int err = open_names(w);

	for (size_t i = 0; err == 0 && i < w->frame_count; i++)
		if (w->frame[i].looking->id)
			look_up(w, &w->frame[i]);
	count_named(w);
	for (struct looking *l = w->looking; err == 0 && l; l = l->hh.next)
		more |= fetch_lines(w, l);
	if (err < 0 || !more)
		return err;
	/* a child that has not seen the files without; texts of the first are in use */
	first = w->symbolizer;
	first_names = w->names;
	w->symbolizer = NULL;
	w->names = NULL;
	err = open_names(w);
	for (size_t i = 0; err == 0 && i < w->frame_count; i++) {
		w->frame[i].count = 0;
		if (w->frame[i].looking->id)
			look_up(w, &w->frame[i]);
	}
	session_names_free(first_names);
	symbolizer_free(first);
	count_named(w);
	return err;
}

/* ---- writing ---- */

static int read_place(void *context, struct row *row)
{
	struct frame *frame = context;

	frame->module = row_uint32(row, UINT32_MAX);
	frame->offset = row_uint(row);
	frame->flags = row_uint32(row, UINT32_MAX);
	return 0;
}

static int put_frame(sqlite3 *db, sqlite3_stmt *put, const struct better *better)
{
	const struct named_module *module = better->looking->module;
	struct frame there = { .module = 0 };
	char sql[64];
	int err = recording_db_query(db, "SELECT module, offset, flags FROM frames WHERE id = ?1",
				     better->id, read_place, &there);

	if (err == 0 && memcmp(&there, &better->named->frame, sizeof(there)) != 0)
		return -ESTALE;
	(void)snprintf(sql, sizeof(sql), "DELETE FROM symbols WHERE frame = %u", better->id);
	if (err == 0)
		err = recording_db_run(db, sql);
	for (size_t i = 0; err == 0 && i < better->count; i++) {
		const struct symbol_frame *s = &better->symbol[i];
		const struct cell cell[] = {
			CELL_I(better->id), CELL_I(i), CELL_T(s->function),
			CELL_I(s->function_offset), CELL_T(s->file), CELL_I(s->line),
			CELL_I(s->column), CELL_T(module->path), CELL_T(module->build_id),
			CELL_I(s->offset), CELL_I(s->inlined),
		};

		err = recording_db_put(put, cell, ARRAY_SIZE(cell));
	}
	return err;
}

static int put_all(struct work *w, sqlite3 *db, struct symbolized *ret)
{
	_cleanup_(recording_db_done) sqlite3_stmt *put = NULL;
	int err = recording_db_prepare(db, "symbols", 11, &put);

	for (size_t i = 0; err == 0 && i < w->frame_count; i++) {
		if (w->frame[i].count == 0)
			continue;
		err = put_frame(db, put, &w->frame[i]);
		ret->written++;
	}
	return err;
}

static int write_names(struct work *w, const char *path, struct symbolized *ret)
{
	_cleanup_(recording_db_close) sqlite3 *db = NULL;
	int err = recording_db_open_to_change(path, &db);

	if (err == 0) {
		sqlite3_busy_timeout(db, BUSY_MS);
		err = recording_db_run(db, "BEGIN IMMEDIATE");
	}
	if (err == 0)
		err = recording_db_check(db);
	if (err == 0) {
		recording_bounds_end(db);
		err = put_all(w, db, ret);
	}
	if (err == 0)
		err = recording_db_run(db, "COMMIT");
	if (err < 0) {
		ret->written = 0;
		if (db)
			(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
		return err;
	}
	/* One file again (see recording_close), if its session is over; else it stays as it is. */
	(void)sqlite3_exec(db, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL);
	return 0;
}

/* ---- all of it ---- */

static int most_first(const void *a, const void *b)
{
	const struct symbolized_module *x = a, *y = b;
	uint32_t x_misses = x->wanted - x->named, y_misses = y->wanted - y->named;

	if (x_misses != y_misses)
		return x_misses < y_misses ? 1 : -1;
	return x->wanted != y->wanted ? (x->wanted < y->wanted ? 1 : -1) : strcmp(x->path, y->path);
}

static int hand_over(struct work *w, struct symbolized *ret)
{
	ret->module = calloc(HASH_COUNT(w->looking) + 1u, sizeof(*ret->module));
	if (!ret->module)
		return -ENOMEM;
	for (struct looking *l = w->looking; l; l = l->hh.next) {
		ret->module[ret->count++] = l->result;
		l->result = (struct symbolized_module){ .path = NULL };
	}
	qsort(ret->module, ret->count, sizeof(*ret->module), most_first);
	return 0;
}

static void result_done(struct symbolized_module *result)
{
	free(result->path);
	free(result->build_id);
	free(result->found);
	free(result->tried);
}

static void work_done(struct work *w)
{
	struct looking *looking, *next;

	HASH_ITER(hh, w->looking, looking, next) {
		HASH_DEL(w->looking, looking);
		result_done(&looking->result);
		free(looking);
	}
	free(w->frame);
	session_names_free(w->names);
	symbolizer_free(w->symbolizer);
	modules_free(w->modules);
	symbol_files_free(w->files);
	recording_content_done(&w->content);
}

int recording_symbolize_file(const char *path, const char *const *folder, size_t count,
			     struct symbolized *ret)
{
	const struct module_source nowhere = { .open_file = NULL };
	struct work w = { .frame = NULL };
	int err;

	*ret = (struct symbolized){ .count = 0 };
	err = recording_read(path, &w.content);
	if (err == -EUCLEAN)
		err = recording_undo(path) ?: recording_read(path, &w.content);
	if (err < 0)
		return err;
	err = list_frames(&w, ret);
	if (err == 0)
		err = symbol_files_new(folder, count, &w.files);
	if (err == 0)
		err = modules_new(&nowhere, &w.modules);
	for (struct looking *l = w.looking; err == 0 && l; l = l->hh.next)
		err = find_file(&w, l);
	if (err == 0)
		err = find_names(&w);
	if (err == 0)
		err = write_names(&w, path, ret);
	if (err == 0)
		err = hand_over(&w, ret);
	work_done(&w);
	return err;
}

void symbolized_done(struct symbolized *symbolized)
{
	for (size_t i = 0; i < symbolized->count; i++)
		result_done(&symbolized->module[i]);
	free(symbolized->module);
	*symbolized = (struct symbolized){ .count = 0 };
}
