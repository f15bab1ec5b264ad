/* SPDX-License-Identifier: MIT */
/*
 * assigned.c - see assigned.h.
 *
 * Frame by frame, and in each from the innermost inlined call outwards: what does this
 * function do with what it was given? It keeps it: that is the name. It returns it: go on
 * with the caller, and remember the name of its local variable in case nobody has a better
 * one. It drops it: the end. Code of libraries (the C++ library's containers, functions
 * without debug information) is passed, it knows no names that a person would look for.
 * Source text wins over the instructions. It is believed only when it fits the binary:
 * the function's name is on the line where it is declared, there is a call at the line and
 * column, and it is the call that the stack says, or the file is older than the binary.
 */
#include "src/leak/variable/assigned.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "src/debuginfo/debug_modules.h"
#include "src/debuginfo/type_shape.h"
#include "src/debuginfo/type_text.h"
#include "src/leak/variable/assigned_code.h"
#include "src/leak/variable/assigned_file.h"
#include "src/leak/variable/assigned_macro.h"
#include "src/leak/variable/assigned_name.h"
#include "src/leak/variable/assigned_source.h"

#define MAX_FRAMES	24u	/* wrappers in wrappers */
#define LINES_BEFORE	60u	/* of a statement, when its function's begin is unknown */
#define LINES_AFTER	400u	/* until its function's end */
#define MAX_HEADERS	400u	/* of a unit, that are searched for a macro */
#define MAX_FUNCTION	4000u	/* lines from a function's begin to the call */

struct assigned_finder {
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct assigned_options options;
	struct source_files *files;
	struct debug_modules *debug;
	struct cfi_rules *cfi;
	struct debug_scopes *scopes;	/* of the frame that is looked at */
	struct tokens tokens;
	struct assigned_stats stats;
};

/* One question, while it is answered. */
struct search {
	struct assigned_finder *finder;
	const struct frame *frame;
	uint32_t index;			/* of the frame */
	const struct symbol_frame *symbol;
	size_t symbol_count;
	size_t level;
	const struct module *module;	/* NULL: none */
	struct debug_index *debug;	/* of the module; NULL: none */
	struct debug_scopes *scopes;	/* NULL: no debug information */
	bool container;			/* the last caller was a library's container */
	char callee[ASSIGNED_NAME_BYTES];	/* what was called here, "" the allocator */
	struct assigned *ret;
};

enum outcome {
	OUTCOME_UP,	/* the caller knows more */
	OUTCOME_FRAME_UP,	/* the caller of the whole machine frame does */
	OUTCOME_DONE,
};

/* ---- life ---- */

int assigned_finder_new(struct modules *modules, struct symbolizer *symbolizer,
			const struct assigned_options *options, struct assigned_finder **ret)
{
	struct assigned_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return -ENOMEM;
	finder->modules = modules;
	finder->symbolizer = symbolizer;
	if (options)
		finder->options = *options;
	finder->scopes = malloc(sizeof(*finder->scopes));
	if (!finder->scopes ||
	    debug_modules_new(symbolizer_files(symbolizer), &finder->debug) < 0 ||
	    cfi_rules_new(&finder->cfi) < 0 ||
	    assigned_files_new(finder->options.source_root, NULL, &finder->files) < 0) {
		assigned_finder_free(finder);
		return -ENOMEM;
	}
	finder->options.source_root = NULL;
	*ret = finder;
	return 0;
}

void assigned_finder_free(struct assigned_finder *finder)
{
	if (!finder)
		return;
	free(finder->scopes);
	debug_modules_free(finder->debug);
	cfi_rules_free(finder->cfi);
	assigned_files_free(finder->files);
	assigned_tokens_done(&finder->tokens);
	free(finder);
}

void assigned_finder_stats(const struct assigned_finder *finder, struct assigned_stats *ret)
{
	*ret = finder->stats;
}

bool assigned_fits(const struct assigned *assigned, uint64_t bytes)
{
	return assigned->element_bytes <= 1 ||
	       (bytes > 0 && bytes % assigned->element_bytes == 0);
}

/* ---- a frame's debug information ---- */

static uint64_t call_address(const struct frame *frame)
{
	return frame->flags & FRAME_RETURN ? frame->offset - 1 : frame->offset;
}

/* Everything that is known about the frame before it is asked anything. */
static int enter_frame(struct search *search)
{
	struct assigned_finder *finder = search->finder;
	int r;

	search->module = modules_get(finder->modules, search->frame->module);
	search->debug = NULL;
	search->scopes = NULL;
	search->symbol = symbolizer_frame(finder->symbolizer, search->frame,
					  &search->symbol_count);
	if (!search->module)
		return 0;
	search->debug = debug_modules_get(finder->debug, search->module);
	if (!search->debug)
		return -ENOMEM;
	r = debug_scopes_read(search->debug, call_address(search->frame), finder->scopes);
	if (r == 0)
		search->scopes = finder->scopes;
	return r == -ENOMEM ? r : 0;
}

/* ---- answers ---- */

static void set_answer(struct search *search, enum assigned_how how, enum assigned_kind kind,
		       const char *text)
{
	struct assigned *ret = search->ret;

	*ret = (struct assigned){ .how = how, .kind = kind, .frame = search->index,
				  .level = (uint32_t)search->level };
	snprintf(ret->variable, sizeof(ret->variable), "%s%s",
		 kind == ASSIGNED_RETURN ? "return value of "
		 : kind == ASSIGNED_ARGUMENT ? "argument of " : "", text);
}

static void set_type(struct search *search, const Dwarf_Die *type)
{
	Dwarf_Die element;

	type_text(type, search->ret->type);
	if (type_pointee(type, &element))
		search->ret->element_bytes = type_size(&element);
}

/* "return value of F", unless a variable's name was found further in. */
static void set_returned(struct search *search, enum assigned_how how)
{
	char name[ASSIGNED_NAME_BYTES];

	if (search->ret->kind == ASSIGNED_VARIABLE)
		return;
	assigned_name_short(search->symbol[search->level].function, name);
	if (name[0])
		set_answer(search, how, ASSIGNED_RETURN, name);
}

/* ---- source ---- */

/* The level of the debug information that the symbolizer's level is; NULL: none. */
static const struct scope_level *level_of(const struct search *search)
{
	if (!search->scopes || search->level >= search->scopes->level_count)
		return NULL;
	return &search->scopes->level[search->level];
}

enum fit { FIT_NO, FIT_UNKNOWN, FIT_YES };

/* Names DWARF's name the frame's file, which is a path from the root where that could be told? */
static bool is_same_file(const char *dwarf, const char *file)
{
	size_t length, whole = strlen(file);

	if (strcmp(dwarf, file) == 0)
		return true;
	while (strncmp(dwarf, "./", 2) == 0)
		dwarf += 2;
	length = strlen(dwarf);
	return dwarf[0] != '/' && length < whole && file[whole - length - 1] == '/' &&
	       strcmp(file + whole - length, dwarf) == 0;
}

/* Does the line where the function is declared hold its name? */
static enum fit declaration_fits(const struct search *search)
{
	const struct scope_level *level = level_of(search);
	const char *file = search->symbol[search->level].file, *declared;
	char name[ASSIGNED_NAME_BYTES];
	Dwarf_Die die;

	if (!level || !level->line || !level->name)
		return FIT_UNKNOWN;
	die = level->die;
	declared = dwarf_decl_file(&die);
	if (!declared || !is_same_file(declared, file))
		return FIT_UNKNOWN;
	assigned_name_short(level->name, name);
	return assigned_source_has_word(&search->finder->tokens, level->line, name) ? FIT_YES
										    : FIT_NO;
}

/* When the module's file was changed last. */
static int64_t module_time(const struct module *module)
{
	struct stat stat;

	return module->fd >= 0 && fstat(module->fd, &stat) == 0 ? stat.st_mtime : 0;
}

static bool believe(const struct search *search, int64_t time, const struct source_answer *answer)
{
	bool newer = time > module_time(search->module);

	switch (declaration_fits(search)) {
	case FIT_YES:
		return answer->by_name || answer->by_place || !newer;
	case FIT_UNKNOWN:
		return answer->by_name || (answer->by_place && !newer);
	default:
		return answer->by_name && answer->by_place && !newer;
	}
}

static struct source_window window_of(const struct search *search, uint32_t line)
{
	const struct scope_level *level = level_of(search);
	struct source_window window = { .wanted = line, .first = 1, .last = line + LINES_AFTER };

	if (line > LINES_BEFORE)
		window.first = line - LINES_BEFORE;
	if (level && level->line && level->line < window.first &&
	    line - level->line < MAX_FUNCTION)
		window.first = level->line;
	return window;
}

/* A source file of the frame's unit; relative paths are meant from where it was compiled. */
static struct source_file *get_file(const struct search *search, const char *file)
{
	struct source_files *files = search->finder->files;
	_cleanup_free_ char *path = NULL;
	const char *folder = NULL;
	Dwarf_Attribute memory;
	Dwarf_Die unit;

	if (*file != '/' && search->scopes) {
		unit = search->scopes->unit;
		if (dwarf_attr(&unit, DW_AT_comp_dir, &memory))
			folder = dwarf_formstring(&memory);
	}
	if (!folder)
		return assigned_file_get(files, file);
	if (asprintf(&path, "%s/%s", folder, file) < 0)
		path = NULL;
	return path ? assigned_file_get(files, path) : NULL;
}

/* A definition in the level's own file, or in one that its unit names; never the system's. */
static const char *find_definition(void *context, const char *name, size_t bytes,
				   size_t *ret_bytes)
{
	const struct search *search = context;
	const struct source_file *file = get_file(search, search->symbol[search->level].file);
	const char *found = file ? assigned_file_define(file, name, bytes, ret_bytes) : NULL;
	Dwarf_Files *files;
	size_t count = 0;
	Dwarf_Die unit;

	if (found || !search->scopes)
		return found;
	unit = search->scopes->unit;
	if (dwarf_getsrcfiles(&unit, &files, &count) != 0)
		return NULL;
	for (size_t i = 1; !found && i < count && i < MAX_HEADERS; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (!path || strncmp(path, "/usr/", 5) == 0)
			continue;
		file = get_file(search, path);
		found = file ? assigned_file_define(file, name, bytes, ret_bytes) : NULL;
	}
	return found;
}

/* The statement says nothing, but it is a macro's: what the macro's text says. 0 or -ENOMEM. */
static int read_macro(struct search *search, const struct source_place *place,
		      struct source_answer *ret)
{
	const struct macro_source source = { .find = find_definition, .context = search };
	struct source_answer answer;
	int r = assigned_macro_read(&search->finder->tokens, place, &source, &answer);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	answer.by_place = answer.by_name = true;
	*ret = answer;
	return 0;
}

/* The variable must be able to hold a pointer, as far as its type is known. */
static bool may_hold(const struct search *search, const struct source_answer *answer)
{
	Dwarf_Die type;

	return answer->kind != SOURCE_VARIABLE || !search->scopes ||
	       !assigned_name_type(search->scopes, (unsigned int)search->level,
				   answer->text, &type) ||
	       type_may_point(&type);
}

/* 1: an answer from the source text; 0: none; -ENOMEM. */
static int read_source(struct search *search, struct source_answer *ret)
{
	struct assigned_finder *finder = search->finder;
	const struct symbol_frame *symbol = &search->symbol[search->level];
	struct source_place place = { .line = symbol->line, .column = symbol->column,
				      .callee = search->callee[0] ? search->callee : NULL,
				      .container = search->container };
	struct source_window window;
	struct source_file *file;
	int64_t time;
	int r;

	if (finder->options.no_source || !symbol->file || !symbol->line || !search->module)
		return 0;
	file = get_file(search, symbol->file);
	if (!file)
		return 0;
	assigned_files_keep(finder->files, file);	/* headers are opened while it is read */
	time = assigned_file_time(file);
	window = window_of(search, symbol->line);
	r = assigned_file_lex(file, &window, &finder->tokens);
	if (r == 0)
		r = assigned_source_read(&finder->tokens, &place, ret);
	if (r == -ENOENT || (r == 0 && ret->kind == SOURCE_UNUSED && !ret->by_name)) {
		bool there = r == 0;

		*ret = there ? *ret : (struct source_answer){ .kind = SOURCE_UNUSED };
		r = read_macro(search, &place, ret);
		if (r == 0 && ret->kind == SOURCE_UNUSED && !there)
			return 0;
	}
	if (r == 0 && believe(search, time, ret) && may_hold(search, ret))
		return 1;
	finder->stats.stale += r == 0;
	return r == -ENOMEM ? r : 0;
}

/* A local variable that the function returns. */
static bool is_returned_local(struct search *search, const struct source_answer *answer)
{
	const struct scope_level *level = level_of(search);
	Dwarf_Die die;
	bool is_static;

	if (!answer->plain || !level ||
	    !debug_scopes_local(search->scopes, (unsigned int)search->level, answer->text,
				  strlen(answer->text), &die, &is_static) ||
	    is_static)
		return false;
	return assigned_source_returns(&search->finder->tokens, level->line,
				       search->symbol[search->level].line, answer->text);
}

/* Compares what the instructions say, for the statistics. */
static void compare(struct search *search, const struct source_answer *source);

static enum outcome take_source(struct search *search, const struct source_answer *answer)
{
	Dwarf_Die type;

	switch (answer->kind) {
	case SOURCE_VARIABLE:
		set_answer(search, ASSIGNED_BY_SOURCE, ASSIGNED_VARIABLE, answer->text);
		if (search->scopes &&
		    assigned_name_type(search->scopes, (unsigned int)search->level,
				       answer->text, &type))
			set_type(search, &type);
		else
			snprintf(search->ret->type, sizeof(search->ret->type), "%s", answer->type);
		if (is_returned_local(search, answer))
			return OUTCOME_UP;
		compare(search, answer);
		return OUTCOME_DONE;
	case SOURCE_RETURN:
		set_returned(search, ASSIGNED_BY_SOURCE);
		return OUTCOME_UP;
	case SOURCE_ARGUMENT:
		set_answer(search, ASSIGNED_BY_SOURCE, ASSIGNED_ARGUMENT, answer->text);
		return OUTCOME_DONE;
	default:
		return OUTCOME_DONE;
	}
}

/* ---- instructions ---- */

static int read_code(const struct search *search, struct code_answer *ret)
{
	const struct code_place place = { .module = search->module, .index = search->debug,
					  .cfi = search->finder->cfi, .scopes = search->scopes,
					  .return_address = search->frame->offset };

	*ret = (struct code_answer){ .kind = CODE_NOTHING };
	if (search->finder->options.no_code || !search->module ||
	    !(search->frame->flags & FRAME_RETURN))
		return -ENOENT;
	return assigned_code_read(&place, ret);
}

static void compare(struct search *search, const struct source_answer *source)
{
	struct assigned_stats *stats = &search->finder->stats;
	struct code_answer answer;

	if (read_code(search, &answer) < 0 || answer.kind != CODE_VARIABLE ||
	    answer.level < search->level)
		return;
	stats->both++;
	stats->disagreed += !assigned_name_same(source->text, answer.text) &&
			    !assigned_name_same(source->outer, answer.text);
}

/*
 * "p._M_t._M_head_impl" of the C++ library's classes: what people wrote is p. Its type is then
 * asked for again.
 */
static void clean_up(struct search *search)
{
	char *text = search->ret->variable, *inside = strstr(text, "_M_");
	Dwarf_Die type;

	if (inside && inside - text > 2 && strncmp(inside - 2, "->", 2) == 0)
		inside -= 2;
	else if (inside && inside - text > 1 && inside[-1] == '.')
		inside--;
	else
		return;
	*inside = '\0';
	search->ret->type[0] = '\0';
	search->ret->element_bytes = 0;
	if (search->scopes && search->ret->level < search->scopes->level_count &&
	    assigned_name_type(search->scopes, search->ret->level, text, &type))
		set_type(search, &type);
}

/* The function at address, in full; NULL unknown. */
static const char *function_at(struct search *search, uint64_t address, char stub[PLT_NAME_BYTES])
{
	struct frame frame = { .module = search->frame->module, .offset = address };
	const struct symbol_frame *symbol;
	size_t count;

	stub[0] = '\0';
	if (!address)
		return NULL;
	if (search->debug)
		debug_index_stub(search->debug, address, stub);
	if (stub[0])
		return stub;
	symbol = symbolizer_frame(search->finder->symbolizer, &frame, &count);
	return symbol[count - 1].function;
}

/*
 * The result is handed to functions: a constructor gets its own object, a smart pointer's keeps
 * it for the variable that it is, any other is the answer.
 */
static enum outcome take_code_call(struct search *search, const struct code_answer *answer)
{
	char name[ASSIGNED_NAME_BYTES], stub[PLT_NAME_BYTES];

	for (unsigned int i = 0; i < answer->call_count; i++) {
		const struct code_call *call = &answer->call[i];
		const char *function = function_at(search, call->callee, stub);
		bool constructor = function && assigned_name_is_constructor(function);

		assigned_name_short(function, name);
		if (call->argument == 1 && call->object[0] &&
		    (constructor || strcmp(name, "reset") == 0)) {
			set_answer(search, ASSIGNED_BY_CODE, ASSIGNED_VARIABLE, call->object);
			clean_up(search);
			return OUTCOME_DONE;
		}
		if (constructor || !name[0])
			continue;
		set_answer(search, ASSIGNED_BY_CODE, ASSIGNED_ARGUMENT, name);
		return OUTCOME_DONE;
	}
	/* Nobody knows what code without debug information does: its caller may. */
	return search->scopes ? OUTCOME_DONE : OUTCOME_FRAME_UP;
}

static enum outcome take_code_variable(struct search *search, const struct code_answer *answer)
{
	size_t level = search->level;

	search->level = answer->level;
	set_answer(search, answer->kind == CODE_SYMBOL ? ASSIGNED_BY_SYMBOL : ASSIGNED_BY_CODE,
		   ASSIGNED_VARIABLE, answer->text);
	search->level = level;
	if (answer->has_type)
		set_type(search, &answer->type);
	clean_up(search);
	return answer->returned && answer->local ? OUTCOME_FRAME_UP : OUTCOME_DONE;
}

/* The instructions answer for the whole machine frame. */
static enum outcome take_code(struct search *search, const struct code_answer *answer)
{
	if ((answer->kind == CODE_VARIABLE || answer->kind == CODE_SYMBOL) &&
	    answer->level >= search->level)
		return take_code_variable(search, answer);
	if (answer->returned) {
		search->level = search->symbol_count - 1;
		set_returned(search, ASSIGNED_BY_CODE);
		return OUTCOME_FRAME_UP;
	}
	return take_code_call(search, answer);
}

/* ---- the way up ---- */

/* Where the text has no call, a constructor does what the compiler wrote: the object's. */
static bool is_unwritten(const struct search *search)
{
	const char *function = search->symbol[search->level].function;

	return search->container && function && assigned_name_is_constructor(function);
}

/* *ret: what to do next. 0 or -ENOMEM. */
static int ask_level(struct search *search, enum outcome *ret)
{
	struct source_answer source = { .kind = SOURCE_UNUSED };
	struct code_answer code;
	int r;

	*ret = OUTCOME_UP;
	if (assigned_name_is_library(&search->symbol[search->level])) {
		search->container = true;
		return 0;
	}
	r = read_source(search, &source);
	if (r < 0)
		return r;
	if (r == 0 && is_unwritten(search))
		return 0;
	/* A call that is not in the text, nor used there: the instructions may tell. */
	if (r > 0 && (source.kind != SOURCE_UNUSED || source.by_name || search->index > 0)) {
		*ret = take_source(search, &source);
	} else {
		r = read_code(search, &code);
		if (r == -ENOMEM)
			return r;
		*ret = take_code(search, &code);
	}
	search->container = false;
	return 0;
}

static int ask_frame(struct search *search, enum outcome *ret)
{
	int r = enter_frame(search);

	*ret = OUTCOME_UP;
	for (search->level = 0; r == 0 && search->level < search->symbol_count &&
	     *ret == OUTCOME_UP; search->level++) {
		size_t level = search->level;

		r = ask_level(search, ret);
		search->level = level;
		assigned_name_short(search->symbol[level].function, search->callee);
	}
	/* The next frame called the function that all this was inlined into. */
	assigned_name_short(search->symbol[search->symbol_count - 1].function, search->callee);
	return r;
}

static void count(struct assigned_stats *stats, const struct assigned *assigned)
{
	stats->asked++;
	stats->named += assigned->kind != ASSIGNED_NOTHING;
	stats->by_source += assigned->how == ASSIGNED_BY_SOURCE;
	stats->by_code += assigned->how == ASSIGNED_BY_CODE;
	stats->by_symbol += assigned->how == ASSIGNED_BY_SYMBOL;
}

int assigned_find(struct assigned_finder *finder, const struct frame *frame, uint32_t frame_count,
		  struct assigned *ret)
{
	struct assigned answer = { .how = ASSIGNED_UNKNOWN };
	struct search search = { .finder = finder, .ret = &answer };
	enum outcome outcome = OUTCOME_UP;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < frame_count && i < MAX_FRAMES &&
	     outcome != OUTCOME_DONE; i++) {
		search.frame = &frame[i];
		search.index = i;
		r = ask_frame(&search, &outcome);
	}
	if (r < 0)
		return r;
	count(&finder->stats, &answer);
	*ret = answer;
	return 0;
}
