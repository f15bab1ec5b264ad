/* SPDX-License-Identifier: MIT */
/*
 * debug_names.c - names of variables, functions and types as people write them.
 *
 * An entry does not say what it lies in. Its linkage name does where there is one; else its unit is
 * walked until the entry is met. To keep the scopes of all entries would cost more memory
 * than all the rest, and few are asked for.
 */
#include "src/debuginfo/debug_names.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "src/debuginfo/demangle.h"
#include "src/debuginfo/debug_walk.h"
#include "src/debuginfo/type_names.h"

#define MAX_ENTRIES	(32u << 20)	/* of one unit */

/* Takes the tags "[abi:cxx11]" out, which nobody writes. */
static void cut_tags(char *text)
{
	char *tag;

	while ((tag = strstr(text, "[abi:"))) {
		size_t length = strcspn(tag, "]");

		length += tag[length] == ']';
		memmove(tag, tag + length, strlen(tag + length) + 1);
	}
}

void debug_name_symbol(const char *symbol, char text[DEBUG_NAME_BYTES])
{
	_cleanup_free_ char *shown = demangle(symbol);

	snprintf(text, DEBUG_NAME_BYTES, "%s", shown ? shown : symbol);
	if (!shown)
		text[strcspn(text, "@")] = '\0';	/* environ@@GLIBC_2.2.5 */
	cut_tags(text);
}

/* f(int) [const] to f, but "(anonymous namespace)::x" stays. */
static void cut_parameters(char *text)
{
	char *end = strrchr(text, ')');
	int open = 0;

	for (char *at = end; at && at > text; at--) {
		open += (*at == ')') - (*at == '(');
		if (open == 0) {
			if (strncmp(at, "(anonymous", 10) != 0)
				*at = '\0';
			return;
		}
	}
}

void debug_name_function_symbol(const char *symbol, char text[DEBUG_NAME_BYTES])
{
	debug_name_symbol(symbol, text);
	cut_parameters(text);
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute memory, *attribute;

	attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
	if (!attribute)
		attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
	return attribute ? dwarf_formstring(attribute) : NULL;
}

/* The walk that looks for one entry of a unit, for its scope's name. */
struct search {
	const void *wanted;	/* its die.addr */
	char *text;		/* DEBUG_NAME_BYTES; NULL: not asked for, but */
	uint64_t scope;		/* its type_name_hash */
};

static void append_scope(char text[DEBUG_NAME_BYTES], struct debug_level *level)
{
	size_t length = strlen(text);
	const char *linkage = level->tag == DW_TAG_subprogram ? linkage_name(&level->die) : NULL;
	const char *name = debug_scope_name(&level->die, level->tag);

	if (linkage) {
		debug_name_function_symbol(linkage, text);
		length = strlen(text);
	} else if (name && level->tag != DW_TAG_lexical_block) {
		length += (size_t)snprintf(text + length, DEBUG_NAME_BYTES - length, "%s", name);
	} else {
		return;
	}
	if (length < DEBUG_NAME_BYTES)
		snprintf(text + length, DEBUG_NAME_BYTES - length, "::");
}

static int is_wanted(void *context, struct debug_level *level, unsigned int depth)
{
	struct search *search = context;

	if (level[depth].die.addr != search->wanted)
		return 0;
	if (!search->text) {
		search->scope = debug_walk_scope(level, depth);
		return 1;
	}
	search->text[0] = '\0';
	for (unsigned int i = 0; i < depth; i++)
		append_scope(search->text, &level[i]);
	return 1;
}

static bool search_unit(Dwarf_Die *die, bool functions, struct search *search)
{
	uint64_t budget = MAX_ENTRIES;
	const struct debug_walk walk = {
		.enters = functions ? debug_walk_enters_functions : NULL, .budget = &budget,
		.each = is_wanted, .context = search,
	};
	Dwarf_Die unit;

	search->wanted = die->addr;
	return dwarf_diecu(die, &unit, NULL, NULL) && debug_walk_below(&walk, &unit) == 1;
}

/* The entry that says in which scope a variable was declared. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Die declared;

	if (dwarf_attr(die, DW_AT_specification, &memory) && dwarf_formref_die(&memory, &declared))
		return declared;
	return *die;
}

void debug_name_variable(Dwarf_Die *variable, bool nested, bool functions,
			 char text[DEBUG_NAME_BYTES])
{
	const char *linkage = linkage_name(variable), *name = dwarf_diename(variable);
	Dwarf_Die declared = declaration_of(variable);
	struct search search = { .text = text };
	size_t length;

	text[0] = '\0';
	if (linkage && linkage[0] == '_') {
		debug_name_symbol(linkage, text);
		return;
	}
	if (nested && !search_unit(&declared, functions, &search))
		text[0] = '\0';
	length = strlen(text);
	snprintf(text + length, DEBUG_NAME_BYTES - length, "%s", name ? name : "?");
}

void debug_name_function(Dwarf_Die *function, char text[DEBUG_NAME_BYTES])
{
	const char *linkage = linkage_name(function), *name = dwarf_diename(function);

	if (linkage)
		debug_name_symbol(linkage, text);
	else
		snprintf(text, DEBUG_NAME_BYTES, "%s", name ? name : "?");
	cut_parameters(text);
}

uint64_t debug_name_hash(Dwarf_Die *type)
{
	struct search search = { .text = NULL };
	const char *name = dwarf_diename(type);

	if (!name || !search_unit(type, false, &search))
		return 0;
	return type_name_hash(search.scope, name);
}
