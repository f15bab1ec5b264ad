/* SPDX-License-Identifier: MIT */
/*
 * caller.c - see caller.h.
 *
 * operator new is known by its name, wherever it is defined: a class's own and an interposed one
 * allocate for their callers as well. A C library's function is known by its name and by where it
 * lies: a program may have a getline() of its own. Between malloc and such a function there may be
 * others of the C library, which often have no names: those count as parts of it. Rejected: to
 * leave out all functions of the C library; "allocated by getaddrinfo" is what people want to know.
 */
#include "src/report/caller.h"

#include <string.h>

#include "src/report/text_put.h"

/* Sorted: how the C library's functions are called in the standard. */
static const char *const helper_name[] = {
	"argz_add", "argz_add_sep", "argz_append", "argz_create",
	"argz_create_sep", "argz_insert", "argz_replace", "asprintf", "backtrace_symbols",
	"canonicalize_file_name", "cxa_allocate_exception", "envz_add", "envz_merge",
	"fgetln", "fparseln", "fscanf", "fwscanf", "get_current_dir_name", "getcwd", "getdelim",
	"getline", "getwd", "open_memstream", "open_wmemstream", "realpath", "reallocarray",
	"reallocf", "recallocarray", "scandir", "scandirat", "scanf", "sscanf", "strdup", "strndup",
	"swscanf", "tempnam", "vasprintf", "vfscanf", "vfwscanf", "vscanf", "vsscanf", "vswscanf",
	"vwscanf", "wcsdup", "wscanf",
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* --- operator new --------------------------------------------------------------------- */

/* "_Znwm", "_ZnamRKSt9nothrow_t": names that nobody has demangled. */
static bool is_mangled_new(const char *name)
{
	return (starts_with(name, "_Znw") || starts_with(name, "_Zna")) &&
	       (name[4] == 'm' || name[4] == 'j');
}

/*
 * Does the function itself have that name? What stands in lists of parameters and of template
 * arguments belongs to others.
 */
static bool is_operator_new(const char *name)
{
	static const char word[] = "operator new";
	size_t depth = 0;

	for (const char *at = name; *at; at++) {
		if (depth == 0 && *at == 'o' && starts_with(at, word) &&
		    !is_word(at[sizeof(word) - 1]) && (at == name || !is_word(at[-1])))
			return true;
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && depth > 0)
			depth--;
	}
	return is_mangled_new(name);
}

/* --- the C library -------------------------------------------------------------------- */

bool caller_is_library(const char *module)
{
	const char *name = module ? text_base_name(module) : "";

	return starts_with(name, "libc.so") || starts_with(name, "libc-2.") ||
	       starts_with(name, "libc.musl-") || starts_with(name, "ld-musl-") ||
	       starts_with(name, "libstdc++.so") || starts_with(name, "libc++abi.so") ||
	       starts_with(name, "libsupc++.so");
}

/* The name without what the C library puts before it. */
static const char *behind_prefixes(const char *name)
{
	static const char *const prefix[] = { "GI_", "IO_", "isoc99_", "isoc23_", "libc_" };
	const char *before = NULL;

	while (before != name) {
		before = name;
		name += strspn(name, "_");
		for (size_t i = 0; name != before && i < ARRAY_SIZE(prefix); i++)
			if (starts_with(name, prefix[i]))
				name += strlen(prefix[i]);
	}
	return name;
}

/* The bytes of name without "_chk", "_internal", "64" and versions behind it. */
static size_t bare_length(const char *name)
{
	static const char *const suffix[] = { "_internal", "_chk", "_stk", "64" };
	size_t length = strcspn(name, "@.(");

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		size_t more = strlen(suffix[i]);

		if (length > more && memcmp(name + length - more, suffix[i], more) == 0)
			length -= more;
	}
	return length;
}

static bool is_helper_name(const char *name)
{
	const char *bare = behind_prefixes(name);
	size_t length = bare_length(bare);

	for (size_t i = 0; i < ARRAY_SIZE(helper_name); i++)
		if (strlen(helper_name[i]) == length && memcmp(helper_name[i], bare, length) == 0)
			return true;
	return false;
}

/*
 * A name in the C library's own space, a header of the system's (fortified functions are inlined
 * from there), or a program that has the C library in it, for which there are no lines.
 */
static bool is_linked_in(const struct caller_function *f)
{
	return f->function[0] == '_' || f->line == 0 ||
	       (f->file && starts_with(f->file, "/usr/include/"));
}

bool caller_is_helper(const struct caller_function *f)
{
	if (!f->function)
		return false;
	if (is_operator_new(f->function))
		return true;
	return is_helper_name(f->function) && (caller_is_library(f->module) || is_linked_in(f));
}

/* --- stacks --------------------------------------------------------------------------- */

struct caller_function caller_function_of(const struct symbol_frame *symbol)
{
	return (struct caller_function){ .function = symbol->function, .module = symbol->module,
					 .file = symbol->file, .line = symbol->line };
}

bool caller_search_next(struct caller_search *search, const struct caller_function *f)
{
	if (search->ended)
		return false;
	if (caller_is_helper(f))
		search->found = search->seen + 1;
	else if (!caller_is_library(f->module))
		search->ended = true;
	search->seen++;
	return !search->ended;
}

void caller_search_frames(struct caller_search *search, const struct symbol_frame *symbol,
			  size_t count)
{
	for (size_t i = 0; i < count && !search->ended; i++) {
		const struct caller_function f = caller_function_of(&symbol[i]);

		(void)caller_search_next(search, &f);
	}
}

uint32_t caller_search_found(const struct caller_search *search)
{
	return search->found < search->seen ? search->found : 0;
}

/* Frame `wanted` of those from machine frame `from` on. */
static struct caller caller_at(const struct report_names *names, const struct stack *stack,
			       uint32_t from, uint32_t wanted)
{
	struct caller caller = { .symbol = NULL };

	for (uint32_t i = from; i < stack->frame_count; i++) {
		size_t count = 0;

		caller.machine = &stack->frame[i];
		caller.symbol = names->frame(names->context, caller.machine, &count);
		if (wanted < count) {
			caller.symbol += wanted;
			break;
		}
		wanted -= (uint32_t)count;
	}
	return caller;
}

struct caller caller_of_stack(const struct report_names *names, const struct stack *stack,
			      uint32_t from)
{
	struct caller_search search = { 0 };

	for (uint32_t i = from; i < stack->frame_count && !search.ended; i++) {
		size_t count = 0;
		const struct symbol_frame *symbol = names->frame(names->context, &stack->frame[i],
								 &count);

		caller_search_frames(&search, symbol, count);
	}
	return caller_at(names, stack, from, caller_search_found(&search));
}
