/* SPDX-License-Identifier: MIT */
/*
 * debug_walk.c - a tree of debug information, in order, without recursion.
 *
 * Goes into what gives names to what lies in it (namespaces, classes), and into functions
 * for those who ask: they are most of a unit, and hold no global names but static locals.
 * All of src/leak walks with this, so that one place bounds what a hostile tree costs.
 * The tree is hostile: depth and number of entries are bounded.
 * Rejected: dwarf_getscopes_die() for the scopes of an entry, which recurses as deep as
 * the file says.
 */
#include "src/debuginfo/debug_walk.h"

#include <dwarf.h>
#include <errno.h>

#include "src/debuginfo/type_names.h"

bool debug_walk_is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

bool debug_walk_enters_functions(void *context, struct debug_level *level, unsigned int depth)
{
	int tag = level[depth].tag;

	(void)context;
	return debug_walk_is_scope(tag) || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static bool enters(const struct debug_walk *walk, struct debug_level *level, unsigned int depth)
{
	return walk->enters ? walk->enters(walk->context, level, depth)
			    : debug_walk_is_scope(level[depth].tag);
}

const char *debug_scope_name(Dwarf_Die *die, int tag)
{
	const char *name = dwarf_diename(die);

	return !name && tag == DW_TAG_namespace ? "(anonymous namespace)" : name;
}

/* That of the scopes around what lies in level. */
static uint64_t scope_below(struct debug_level *level)
{
	const char *name = NULL;

	if (debug_walk_is_scope(level->tag) || level->tag == DW_TAG_subprogram)
		name = debug_scope_name(&level->die, level->tag);
	return name ? type_name_hash(level->scope, name) : level->scope;
}

uint64_t debug_walk_scope(struct debug_level *level, unsigned int depth)
{
	unsigned int known = depth;

	while (!level[known].has_scope)
		known--;	/* [0] has one */
	for (; known < depth; known++) {
		level[known + 1].scope = scope_below(&level[known]);
		level[known + 1].has_scope = true;
	}
	return level[depth].scope;
}

static int run(const struct debug_walk *walk, struct debug_level *level)
{
	unsigned int depth = 0;
	int r;

	while (*walk->budget > 0) {
		struct debug_level *at = &level[depth];

		--*walk->budget;
		at->tag = dwarf_tag(&at->die);
		r = walk->each(walk->context, level, depth);
		if (r != 0)
			return r;
		if (depth + 1 < DEBUG_MAX_DEPTH && enters(walk, level, depth) &&
		    dwarf_child(&at->die, &level[depth + 1].die) == 0) {
			level[++depth].has_scope = false;
			continue;
		}
		while (dwarf_siblingof(&level[depth].die, &level[depth].die) != 0) {
			if (depth-- == 0)
				return 0;
		}
	}
	return 0;
}

int debug_walk_below(const struct debug_walk *walk, Dwarf_Die *top)
{
	struct debug_level level[DEBUG_MAX_DEPTH];

	level[0].scope = TYPE_NAME_EMPTY;
	level[0].has_scope = true;
	return dwarf_child(top, &level[0].die) == 0 ? run(walk, level) : 0;
}

bool debug_next_unit(Dwarf *dwarf, struct debug_unit *unit)
{
	Dwarf_Die split;
	uint8_t type;

	if (dwarf_get_units(dwarf, unit->next, &unit->next, NULL, &type, &unit->die, &split) != 0)
		return false;
	unit->has_code = type == DW_UT_compile || type == DW_UT_skeleton;
	unit->tree = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid ? split
										   : unit->die;
	return true;
}

int debug_walk_all(const struct debug_walk *walk, Dwarf *dwarf)
{
	struct debug_unit unit = { .next = NULL };
	int r = 0;

	while (r == 0 && *walk->budget > 0 && debug_next_unit(dwarf, &unit))
		r = debug_walk_below(walk, &unit.tree);
	return r;
}
