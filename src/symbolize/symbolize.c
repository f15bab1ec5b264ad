/* SPDX-License-Identifier: MIT */
/*
 * symbolize.c - from (module, offset) to function, file, line, column, inline frames.
 *
 * Sources, best first: DWARF through cu_index.c; symbol tables through
 * symbol_table.c; the perf map for code in no module. A return address is looked
 * up one byte earlier, in its call. Every answer is kept: reports ask for the same
 * frame many times, and a name must not change while it is printed. Files are
 * opened on the first question, which comes at report time, so that attaching
 * costs no symbol work.
 * Strings of DWARF and symbol tables are borrowed from libdw, whose handles
 * stay open for the symbolizer's life; demangled and JIT names, and what somebody else
 * has found out for us, are kept here, once each.
 */
#include "src/symbolize/symbolize.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Without memory an answer is not kept; it is no reason to end the process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/debuginfo/cu_index.h"
#include "src/debuginfo/demangle.h"
#include "src/debuginfo/dwarf_files.h"
#include "src/debuginfo/symbol_table.h"
#include "src/modules/debug_image.h"
#include "src/symbolize/call_site.h"
#include "src/symbolize/jit_map.h"

/* Of the room for copies: the text, its lines, and both once more while they are renewed. */
#define JIT_PART 4u

/* What names one module; absent parts are NULL. */
struct names {
	bool opened, dwarf_opened;
	struct dwarf_file *file;	/* one of the symbolizer's files */
	struct symbol_table *symbols;
	struct cu_index *index;
	uint64_t dwarf_bias, symbol_bias;	/* virtual address + bias = theirs */
};

struct cache_key {
	uint64_t offset;
	uint32_t module;
	uint32_t flags;		/* FRAME_RETURN, and the generation of the JIT map above it */
};

struct cached {
	struct cache_key key;
	size_t count;
	UT_hash_handle hh;
	struct symbol_frame frame[];
};

/* A string kept for good: what it was made from, and what it is. */
struct text {
	char *raw;
	char *shown;
	UT_hash_handle hh;
};

struct symbolizer {
	struct modules *modules;
	struct dwarf_files *files;
	struct names *names;	/* [module id - 1] */
	uint32_t names_count;
	struct cached *cache;
	struct text *texts;
	struct jit_map *jit;
	uint32_t jit_generation;
	struct symbolizer_remote remote;
	struct frame foreseen[SYMBOLIZER_FORESEEN];	/* not asked for yet */
	uint32_t foreseen_count;
	struct symbol_frame unknown;	/* answer when there is no memory for a better one */
	struct symbol_frame not_yet;	/* answer when there was no time for one */
};

/* What is found out about one frame, before it is kept. */
struct answer {
	struct symbol_frame frame[CU_MAX_FRAMES];
	size_t count;
	bool not_yet;		/* ask again another time */
};

int symbolizer_new(struct modules *modules, struct symbolizer **ret)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer || dwarf_files_new(&symbolizer->files) < 0) {
		free(symbolizer);
		return -ENOMEM;
	}
	symbolizer->modules = modules;
	symbolizer->unknown = (struct symbol_frame){ .module = "", .build_id = "" };
	*ret = symbolizer;
	return 0;
}

static void names_done(struct names *names)
{
	cu_index_free(names->index);
	symbol_table_free(names->symbols);
}

static void free_tables(struct symbolizer *symbolizer)
{
	struct cached *cached, *next_cached;
	struct text *text, *next_text;

	HASH_ITER(hh, symbolizer->cache, cached, next_cached) {
		HASH_DEL(symbolizer->cache, cached);
		free(cached);
	}
	HASH_ITER(hh, symbolizer->texts, text, next_text) {
		HASH_DEL(symbolizer->texts, text);
		free(text->raw);
		free(text->shown);
		free(text);
	}
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	free_tables(symbolizer);
	for (uint32_t i = 0; i < symbolizer->names_count; i++)
		names_done(&symbolizer->names[i]);
	free(symbolizer->names);
	dwarf_files_free(symbolizer->files);
	jit_map_free(symbolizer->jit);
	free(symbolizer);
}

/* ---- strings ---- */

static struct text *text_new(const char *raw)
{
	struct text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->raw = strdup(raw);
	if (!text->raw) {
		free(text);
		return NULL;
	}
	text->shown = demangle(raw);
	return text;
}

/* Symbol tables may carry a version after the name: memcpy@@GLIBC_2.14. */
static char *without_version(const char *raw)
{
	const char *at = strchr(raw, '@');

	return at && at > raw ? strndup(raw, (size_t)(at - raw)) : NULL;
}

static struct text *get_text(struct symbolizer *symbolizer, const char *raw)
{
	struct text *text;

	HASH_FIND_STR(symbolizer->texts, raw, text);
	if (text)
		return text;
	text = text_new(raw);
	if (text)
		HASH_ADD_KEYPTR(hh, symbolizer->texts, text->raw, strlen(text->raw), text);
	return text;
}

/* raw as people write it; lives as long as the symbolizer. NULL without memory. */
static const char *shown_name(struct symbolizer *symbolizer, const char *raw)
{
	_cleanup_free_ char *plain = without_version(raw);
	struct text *text = get_text(symbolizer, plain ? plain : raw);

	if (!text)
		return NULL;
	return text->shown ? text->shown : text->raw;
}

/* text itself, kept. */
static const char *kept_text(struct symbolizer *symbolizer, const char *text)
{
	const struct text *kept = text ? get_text(symbolizer, text) : NULL;

	return kept ? kept->raw : NULL;
}

/*
 * file as a path from the root, where the compiler was given one from its working directory: a
 * name that nobody can open from elsewhere, and that two programs may have in common.
 */
static const char *full_path(struct symbolizer *symbolizer, const char *file,
			     const char *directory)
{
	_cleanup_free_ char *path = NULL;

	if (!directory || strnlen(directory, PATH_MAX) == PATH_MAX)
		return file;
	while (strncmp(file, "./", 2) == 0)
		file += 2;
	if (asprintf(&path, "%s%s%s", directory,
		     directory[strlen(directory) - 1] == '/' ? "" : "/", file) < 0)
		path = NULL;
	return kept_text(symbolizer, path);
}

/* ---- files ---- */

static void open_names(struct names *names, struct dwarf_files *files,
		       const struct module *module)
{
	Dwfl_Module *dwfl_module;
	GElf_Addr bias;

	names->opened = true;
	names->file = dwarf_files_get(files, module);
	if (!names->file)
		return;
	dwfl_module = dwarf_file_module(names->file);
	if (dwfl_module_getelf(dwfl_module, &bias))
		names->symbol_bias = bias;
	if (symbol_table_new(dwfl_module, &names->symbols) < 0)
		names->symbols = NULL;
}

/* Apart from the symbols: symbolizer_function_name() needs no lines. */
static void open_dwarf(struct names *names)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (names->dwarf_opened || !names->file)
		return;
	names->dwarf_opened = true;
	dwarf = dwarf_file_dwarf(names->file, &bias);
	if (!dwarf || cu_index_new(dwarf, &names->index) < 0)
		return;
	names->dwarf_bias = bias;
}

static struct names *get_names(struct symbolizer *symbolizer, const struct module *module)
{
	if (module->id > symbolizer->names_count) {
		uint32_t count = module->id + 63;
		struct names *names = reallocarray(symbolizer->names, count, sizeof(*names));

		if (!names)
			return NULL;
		memset(names + symbolizer->names_count, 0,
		       (count - symbolizer->names_count) * sizeof(*names));
		symbolizer->names = names;
		symbolizer->names_count = count;
	}
	(void)module_read_names(module);
	if (!symbolizer->names[module->id - 1].opened)
		open_names(&symbolizer->names[module->id - 1], symbolizer->files, module);
	return &symbolizer->names[module->id - 1];
}

struct dwarf_files *symbolizer_files(const struct symbolizer *symbolizer)
{
	return symbolizer->files;
}

static const struct symbol *find_symbol(const struct names *names, uint64_t address)
{
	return names->symbols ? symbol_table_find(names->symbols, address + names->symbol_bias)
			      : NULL;
}

/* ---- one frame ---- */

static uint64_t lookup_address(const struct frame *frame)
{
	return frame->flags & FRAME_RETURN ? frame->offset - 1 : frame->offset;
}

/* Which function really is there, for offsets: the symbol's start, or DWARF's, or 0 unknown. */
static uint64_t function_start(const struct names *names, const struct symbol *symbol,
			       const struct source_frame *outer)
{
	if (symbol)
		return symbol->address - names->symbol_bias;
	return outer ? outer->low - names->dwarf_bias : 0;
}

static void set_source(struct symbolizer *symbolizer, const struct source_frame *source,
		       struct symbol_frame *ret)
{
	const char *name = source->linkage_name ? source->linkage_name : source->name;

	ret->function = name ? shown_name(symbolizer, name) : NULL;
	ret->file = full_path(symbolizer, source->file, source->directory);
	ret->line = source->line;
	ret->column = source->column;
	ret->inlined = source->inlined;
}

/*
 * gcc writes no linkage name for methods of local types, and "_M_invoke" alone says
 * little; the symbol of the code that is really there has the whole name.
 */
static void name_by_symbol(struct symbolizer *symbolizer, const struct symbol *symbol,
			   struct symbol_frame *outer)
{
	const char *shown = shown_name(symbolizer, symbol->name);

	/* "_Z..." that became something, "__gnu_cxx::..." too */
	if (shown && symbol->name[0] == '_' && strncmp(shown, symbol->name, 2) != 0)
		outer->function = shown;
}

/* Everything but where the call is. Returns the number of frames that DWARF knows. */
static int from_dwarf(struct symbolizer *symbolizer, struct names *names, uint64_t address,
		      const struct symbol *symbol, struct answer *answer, uint64_t *ret_start)
{
	struct source_frame source[CU_MAX_FRAMES], line_only;
	int count;

	open_dwarf(names);
	if (!names->index)
		return 0;
	count = cu_index_find(names->index, address + names->dwarf_bias, source, &line_only);
	if (count <= 0) {
		set_source(symbolizer, &line_only, &answer->frame[0]);
		return 0;
	}
	for (int i = 0; i < count; i++)
		set_source(symbolizer, &source[i], &answer->frame[i]);
	if (symbol && !source[count - 1].linkage_name)
		name_by_symbol(symbolizer, symbol, &answer->frame[count - 1]);
	*ret_start = function_start(names, NULL, &source[count - 1]);
	answer->count = (size_t)count;
	return count;
}

static void finish(struct answer *answer, const char *module, const char *build_id,
		   uint64_t offset, uint64_t start)
{
	for (size_t i = 0; i < answer->count; i++) {
		answer->frame[i].module = module;
		answer->frame[i].build_id = build_id;
		answer->frame[i].offset = offset;
		answer->frame[i].function_offset = start && offset >= start ? offset - start : 0;
	}
}

/* What a symbol table knows; it has no lines, but the names of the sources of static functions. */
static void name_frame(struct symbolizer *symbolizer, const struct symbol *symbol,
		       struct symbol_frame *frame)
{
	frame->function = shown_name(symbolizer, symbol->name);
	if (!frame->file)
		frame->file = symbol->file;
}

static void answer_module(struct symbolizer *symbolizer, const struct frame *frame,
			  const struct module *module, struct answer *answer)
{
	struct names *names = get_names(symbolizer, module);
	uint64_t address = lookup_address(frame), call = address, start = 0;
	const struct symbol *symbol = NULL;

	if (names) {
		symbol = find_symbol(names, address);
		if (from_dwarf(symbolizer, names, address, symbol, answer, &start) == 0 && symbol)
			name_frame(symbolizer, symbol, &answer->frame[0]);
		if (symbol)
			start = function_start(names, symbol, NULL);
	}
	if (start && (frame->flags & FRAME_RETURN))
		call = call_site_find(module, start, frame->offset);
	finish(answer, module->path, module->build_id, call, start);
}

/* Code in no ELF file: the JIT map goes by address. */
static void answer_jit(struct symbolizer *symbolizer, const struct frame *frame, bool is_jit,
		       struct answer *answer)
{
	uint64_t address = lookup_address(frame);
	const struct jit_symbol *symbol = NULL;

	if (symbolizer->jit)
		symbol = jit_map_find(symbolizer->jit, address);
	if (symbol)
		answer->frame[0].function = shown_name(symbolizer, symbol->name);
	finish(answer, symbol || is_jit ? "[jit]" : "", "", address, symbol ? symbol->low : 0);
}

/* What a remote said, kept. */
static void take_answer(struct symbolizer *symbolizer, const struct module *module,
			struct answer *answer)
{
	for (size_t i = 0; i < answer->count; i++) {
		struct symbol_frame *at = &answer->frame[i];

		at->function = kept_text(symbolizer, at->function);
		at->file = kept_text(symbolizer, at->file);
		at->module = module->path;
		at->build_id = module->build_id;
	}
}

/* Where the call is, if nobody answers, is where it returns to. */
static void answer_remote(struct symbolizer *symbolizer, const struct frame *frame,
			  const struct module *module, struct answer *answer)
{
	const struct symbolizer_remote *remote = &symbolizer->remote;
	int error = remote->ask(remote->context, frame, answer->frame, &answer->count);

	if (error < 0) {
		*answer = (struct answer){ .count = 1, .not_yet = error == -EAGAIN };
		finish(answer, module->path, module->build_id, lookup_address(frame), 0);
		return;
	}
	take_answer(symbolizer, module, answer);
}

static void find_answer(struct symbolizer *symbolizer, const struct frame *frame,
			struct answer *answer)
{
	const struct module *module = modules_get(symbolizer->modules, frame->module);

	*answer = (struct answer){ .count = 1 };
	if (module && module->kind != MODULE_JIT && symbolizer->remote.ask)
		answer_remote(symbolizer, frame, module, answer);
	else if (module && module->kind != MODULE_JIT)
		answer_module(symbolizer, frame, module, answer);
	else
		answer_jit(symbolizer, frame,
			   module || modules_is_jit(symbolizer->modules, frame->offset), answer);
}

static struct cached *keep(struct symbolizer *symbolizer, const struct cache_key *key,
			   const struct answer *answer)
{
	struct cached *cached = calloc(1, sizeof(*cached) +
				       answer->count * sizeof(answer->frame[0]));

	if (!cached)
		return NULL;
	cached->key = *key;
	cached->count = answer->count;
	memcpy(cached->frame, answer->frame, answer->count * sizeof(answer->frame[0]));
	HASH_ADD(hh, symbolizer->cache, key, sizeof(cached->key), cached);
	return cached;
}

/* module: the frame's, or NULL. */
static struct cache_key key_of(const struct symbolizer *symbolizer, const struct frame *frame,
			       const struct module *module)
{
	struct cache_key key = { .offset = frame->offset, .module = frame->module };

	key.flags = frame->flags & FRAME_RETURN;
	if (!module || module->kind == MODULE_JIT)
		key.flags |= symbolizer->jit_generation << 8;
	return key;
}

const struct symbol_frame *symbolizer_frame(struct symbolizer *symbolizer,
					    const struct frame *frame, size_t *ret_count)
{
	const struct module *module = modules_get(symbolizer->modules, frame->module);
	struct cache_key key = key_of(symbolizer, frame, module);
	struct cached *cached;
	struct answer answer;

	HASH_FIND(hh, symbolizer->cache, &key, sizeof(key), cached);
	if (!cached) {
		find_answer(symbolizer, frame, &answer);
		if (answer.not_yet) {
			symbolizer->not_yet = answer.frame[0];
			*ret_count = 1;
			return &symbolizer->not_yet;
		}
		cached = keep(symbolizer, &key, &answer);
	}
	*ret_count = cached ? cached->count : 1;
	return cached ? cached->frame : &symbolizer->unknown;
}

const struct symbol_frame *symbolizer_frame_soon(struct symbolizer *symbolizer,
						 const struct frame *frame, size_t *ret_count)
{
	const struct symbol_frame *known = symbolizer_frame(symbolizer, frame, ret_count);

	return known == &symbolizer->not_yet ? NULL : known;
}

const struct symbol_frame *symbolizer_frame_known(const struct symbolizer *symbolizer,
						  const struct frame *frame, size_t *ret_count)
{
	const struct module *module = modules_get(symbolizer->modules, frame->module);
	struct cache_key key = key_of(symbolizer, frame, module);
	const struct cached *cached;

	HASH_FIND(hh, symbolizer->cache, &key, sizeof(key), cached);
	if (!cached)
		return NULL;
	*ret_count = cached->count;
	return cached->frame;
}

/* ---- many at once ---- */

static void take_told(void *told, const struct frame *asked, const struct symbol_frame *frame,
		      size_t count)
{
	struct symbolizer *symbolizer = told;
	const struct module *module = modules_get(symbolizer->modules, asked->module);
	struct cache_key key = key_of(symbolizer, asked, module);
	struct answer answer = { .count = count };

	memcpy(answer.frame, frame, count * sizeof(*frame));
	take_answer(symbolizer, module, &answer);
	(void)keep(symbolizer, &key, &answer);
}

void symbolizer_ask_foreseen(struct symbolizer *symbolizer)
{
	const struct symbolizer_remote *remote = &symbolizer->remote;

	if (!symbolizer->foreseen_count)
		return;
	(void)remote->ask_many(remote->context, symbolizer->foreseen, symbolizer->foreseen_count,
			       take_told, symbolizer);
	symbolizer->foreseen_count = 0;
}

static bool is_foreseen(const struct symbolizer *symbolizer, const struct frame *frame)
{
	for (uint32_t i = 0; i < symbolizer->foreseen_count; i++) {
		const struct frame *other = &symbolizer->foreseen[i];

		if (other->offset == frame->offset && other->module == frame->module &&
		    ((other->flags ^ frame->flags) & FRAME_RETURN) == 0)
			return true;
	}
	return false;
}

static void foresee(struct symbolizer *symbolizer, const struct frame *frame)
{
	const struct module *module = modules_get(symbolizer->modules, frame->module);
	struct cache_key key = key_of(symbolizer, frame, module);
	struct cached *cached;

	if (!module || module->kind == MODULE_JIT)
		return;
	HASH_FIND(hh, symbolizer->cache, &key, sizeof(key), cached);
	if (cached || is_foreseen(symbolizer, frame))
		return;
	symbolizer->foreseen[symbolizer->foreseen_count++] = *frame;
	if (symbolizer->foreseen_count == SYMBOLIZER_FORESEEN)
		symbolizer_ask_foreseen(symbolizer);
}

void symbolizer_foresee(struct symbolizer *symbolizer, const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; symbolizer->remote.ask_many && i < count; i++)
		foresee(symbolizer, &frame[i]);
}

const char *symbolizer_function_name(struct symbolizer *symbolizer, const struct frame *frame)
{
	const struct module *module = modules_get(symbolizer->modules, frame->module);
	const struct symbol *symbol;
	struct names *names;

	if (!module || module->kind == MODULE_JIT)
		return NULL;
	names = get_names(symbolizer, module);
	symbol = names ? find_symbol(names, lookup_address(frame)) : NULL;
	return symbol ? symbol->name : NULL;
}

void symbolizer_set_remote(struct symbolizer *symbolizer, const struct symbolizer_remote *remote)
{
	symbolizer->remote = remote ? *remote : (struct symbolizer_remote){ .ask = NULL };
	symbolizer->foreseen_count = 0;
}

int symbolizer_set_jit_map(struct symbolizer *symbolizer, int fd)
{
	struct jit_map *map;
	int r = jit_map_read(fd, modules_room(symbolizer->modules)->left / JIT_PART, &map);

	if (r < 0)
		return r;
	jit_map_free(symbolizer->jit);
	symbolizer->jit = map;
	symbolizer->jit_generation++;
	return 0;
}
