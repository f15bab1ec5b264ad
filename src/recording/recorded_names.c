/* SPDX-License-Identifier: MIT */
/*
 * recorded_names.c - see recorded_names.h.
 *
 * Ids are those of the writer, 1, 2, 3: anything else is not ours, and rows that refer to
 * nothing are left out. A recording whose end is missing (killed, disk full) has frames without
 * symbols: they get their module and offset.
 */
#include "src/recording/recorded_names.h"

#include <errno.h>
#include <string.h>

#include "src/recording/damage.h"
#include "src/recording/recording.h"

#define MAX_STACK (1u << 28)

struct reading {
	sqlite3 *db;
	struct stacks *stacks;
	struct recording_names *names;
	/* The stack being put together. */
	uint32_t frame_count;
	struct frame frame[STACKS_MAX_FRAMES];
};

static int read_module(void *context, struct row *row)
{
	struct reading *reading = context;
	struct named_module *module = calloc(1, sizeof(*module)), *known;

	if (!module)
		return -ENOMEM;
	module->id = row_uint32(row, UINT32_MAX);
	module->path = row_text_or_empty(row);
	module->build_id = row_text_or_empty(row);
	module->kind = row_uint32(row, UINT32_MAX);
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
static int read_frame(void *context, struct row *row)
{
	struct reading *reading = context;
	struct recording_names *names = reading->names;
	struct named_frame *named, *known;

	if (row_uint(row) != names->frame_count + 1u)
		return recording_damage("frames", "column id: not 1, 2, 3");
	if (!RECORDING_GROW(names->by_id, names->frame_count))
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
		return recording_damage("frames", "columns module, offset, flags: one twice");
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
	if (!RECORDING_GROW(names->string, names->string_count)) {
		free(text);
		*ret_error = -ENOMEM;
		return NULL;
	}
	names->string[names->string_count++] = text;
	return text;
}

static int read_symbol(void *context, struct row *row)
{
	struct reading *reading = context;
	struct recording_names *names = reading->names;
	struct named_frame *named = frame_by_id(names, row_uint(row));
	struct symbol_frame *symbol;
	int err = 0;

	if (!named || named->count == SYMBOLIZER_MAX_FRAMES)
		return 0;
	if (!RECORDING_GROW(named->symbol, named->count))
		return -ENOMEM;
	symbol = &named->symbol[named->count++];
	named->recorded = true;
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
static int end_stack(struct reading *reading, uint32_t in_file, uint32_t flags)
{
	uint32_t id = 0;
	int err = stacks_intern(reading->stacks, reading->frame, reading->frame_count, flags, &id);

	return err < 0 ? err : hashmap_put(&reading->names->stacks, in_file, id);
}

/*
 * The frames of stack id, which come in the order of stacks: what belongs to none before it is
 * passed over. *step: what the last sqlite3_step() said; the row of a later stack stays for it.
 */
static void read_stack_frames(struct reading *reading, sqlite3_stmt *frames, uint64_t id, int *step)
{
	for (; *step == SQLITE_ROW; *step = sqlite3_step(frames)) {
		struct row row = { .statement = frames };
		int64_t stack = (int64_t)row_uint(&row);
		const struct named_frame *named;

		if (stack > (int64_t)id)
			return;
		named = frame_by_id(reading->names, row_uint(&row));
		if (stack == (int64_t)id && named && reading->frame_count < STACKS_MAX_FRAMES)
			reading->frame[reading->frame_count++] = named->frame;
	}
}

static int read_stacks(struct reading *reading)
{
	_cleanup_(recording_db_done) sqlite3_stmt *stacks = NULL, *frames = NULL;
	int err = 0, step = SQLITE_DONE, result = recording_db_select(reading->db,
		"SELECT id, flags FROM stacks ORDER BY id", &stacks);

	if (result == SQLITE_OK)
		result = recording_db_select(reading->db, "SELECT stack, frame FROM stack_frames "
					    "ORDER BY stack, depth", &frames);
	if (result == SQLITE_OK)
		step = sqlite3_step(frames);
	while (err == 0 && result == SQLITE_OK && sqlite3_step(stacks) == SQLITE_ROW) {
		struct row row = { .statement = stacks };
		uint32_t id = row_uint32(&row, MAX_STACK);

		/* Some may be missing: dropped before the recording had them (--max-memory). */
		if (id == 0 || id == MAX_STACK)
			return recording_damage("stacks", "column id: none of a stack");
		reading->frame_count = 0;
		read_stack_frames(reading, frames, id, &step);
		if (step != SQLITE_ROW)
			err = recording_db_errno(reading->db, step);
		if (err == 0)
			err = end_stack(reading, id, row_uint32(&row, UINT32_MAX));
	}
	return err < 0 ? err : recording_db_errno(reading->db, sqlite3_errcode(reading->db));
}

uint32_t recording_names_stack(const struct recording_names *names, uint64_t id)
{
	uint64_t stack;

	return hashmap_get(&names->stacks, id, &stack) ? (uint32_t)stack : 0;
}

int recording_names_read(sqlite3 *db, struct recording_names *names, struct stacks *stacks)
{
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));
	int err;

	if (!reading)
		return -ENOMEM;
	reading->db = db;
	reading->names = names;
	reading->stacks = stacks;
	err = recording_db_query(db, "SELECT * FROM modules", 0, read_module, reading);
	if (err == 0)
		err = recording_db_query(db, "SELECT * FROM frames ORDER BY id", 0, read_frame,
					 reading);
	if (err == 0)
		err = recording_db_query(db, "SELECT * FROM symbols ORDER BY frame, depth", 0,
					 read_symbol, reading);
	if (err == 0)
		err = name_the_rest(names);
	return err < 0 ? err : read_stacks(reading);
}

const struct named_frame *recording_names_find(const struct recording_names *names,
					       const struct frame *frame)
{
	struct frame key = { .module = frame->module, .flags = frame->flags,
			     .offset = frame->offset };
	struct named_frame *named;

	HASH_FIND(hh, names->frames, &key, sizeof(key), named);
	return named;
}

const struct symbol_frame *recording_names_frame(void *context, const struct frame *frame,
						 size_t *ret_count)
{
	static const struct symbol_frame unknown = { .module = "", .build_id = "" };
	const struct named_frame *named = recording_names_find(context, frame);

	*ret_count = named ? named->count : 1;
	return named ? named->symbol : &unknown;
}

const char *recording_build_id(const struct recording_content *content, uint32_t module)
{
	struct named_module *known;

	HASH_FIND(hh, content->own->modules, &module, sizeof(module), known);
	return known ? known->build_id : "";
}

const char *recording_module_path(const struct recording_content *content, uint32_t module)
{
	struct named_module *known;

	HASH_FIND(hh, content->own->modules, &module, sizeof(module), known);
	return known ? known->path : "";
}

bool recording_has_build_id(const struct recording_content *content, const char *build_id)
{
	for (struct named_module *m = content->own->modules; m; m = m->hh.next)
		if (build_id[0] && strcmp(m->build_id, build_id) == 0)
			return true;
	return false;
}

void recording_names_free(struct recording_names *names)
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
	hashmap_done(&names->stacks);
	free(names);
}
