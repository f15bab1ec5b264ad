/* SPDX-License-Identifier: MIT */
/*
 * debug_walk.c - one compile unit's tree of debug information, in order, without recursion.
 *
 * Goes into what gives names to what lies in it (namespaces, classes), and into functions
 * for those who ask: they are most of a unit, and hold no global names but static locals.
 * The tree is hostile: depth and number of entries are bounded.
 * Rejected: dwarf_getscopes_die() for the scopes of an entry, which recurses as deep as
 * the file says.
 */
#include "src/leak/debug_walk.h"

#include <dwarf.h>
#include <errno.h>

#include "src/leak/type_names.h"

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

static bool enters(const struct debug_walk *walk, struct debug_level *level)
{
	return walk->enters ? walk->enters(walk->context, level) : debug_walk_is_scope(level->tag);
}

const char *debug_scope_name(Dwarf_Die *die, int tag)
{
	const char *name = dwarf_diename(die);

	return !name && tag == DW_TAG_namespace ? "(anonymous namespace)" : name;
}

/* The first entry below level's, with its scope. */
static bool go_down(struct debug_level *level)
{
	const char *name;

	if (dwarf_child(&level[0].die, &level[1].die) != 0)
		return false;
	name = debug_walk_is_scope(level[0].tag) || level[0].tag == DW_TAG_subprogram ?
	       debug_scope_name(&level[0].die, level[0].tag) : NULL;
	level[1].scope = name ? type_name_hash(level[0].scope, name) : level[0].scope;
	return true;
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
		if (depth + 1 < DEBUG_MAX_DEPTH && enters(walk, at) && go_down(at)) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&level[depth].die, &level[depth].die) != 0) {
			if (depth-- == 0)
				return 0;
		}
	}
	return 0;
}

int debug_walk_unit(const struct debug_walk *walk, Dwarf_Die *unit)
{
	struct debug_level level[DEBUG_MAX_DEPTH];

	level[0].scope = TYPE_NAME_EMPTY;
	if (dwarf_child(unit, &level[0].die) != 0)
		return 0;
	return run(walk, level);
}

int debug_walk_all(const struct debug_walk *walk, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	int r = 0;

	while (r == 0 && *walk->budget > 0 &&
	       dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		bool skeleton = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;

		r = debug_walk_unit(walk, skeleton ? &split : &die);
	}
	return r;
}
