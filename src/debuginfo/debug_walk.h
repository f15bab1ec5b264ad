/* SPDX-License-Identifier: MIT */
/* debug_walk.h - a tree of debug information, in order, without recursion. */
#ifndef MEMATTACH_LEAK_DEBUG_WALK_H
#define MEMATTACH_LEAK_DEBUG_WALK_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define DEBUG_MAX_DEPTH 64u

/* An entry, and those around it at lower indexes; [0] is below the unit itself. */
struct debug_level {
	Dwarf_Die die;
	int tag;
	bool has_scope;		/* for debug_walk_scope */
	uint64_t scope;
};
struct debug_walk {
	/*
	 * Whether to go on at depth + 1 with what lies in level[depth]. NULL: only in scopes of
	 * names (namespaces, classes), debug_walk_is_scope.
	 */
	bool (*enters)(void *context, struct debug_level *level, unsigned int depth);
	uint64_t *budget;	/* entries that may still be looked at; counted down */
	/* Called for every entry; level[depth] is the one. Not 0 ends the walk. */
	int (*each)(void *context, struct debug_level *level, unsigned int depth);
	void *context;
};
/* One of the units of a file. */
struct debug_unit {
	Dwarf_CU *next;		/* NULL: before the first */
	Dwarf_Die die, tree;	/* tree: with the entries; of the split unit where there is one */
	bool has_code;		/* no type unit, nothing that others share */
};
/* Goes on to the next unit, type units too. False: there is none. */
bool debug_next_unit(Dwarf *dwarf, struct debug_unit *unit);
/* All below top, a unit or any other entry. What each returned, or 0. */
int debug_walk_below(const struct debug_walk *walk, Dwarf_Die *top) _must_check_;
/* The same over all units of dwarf, type units and split ones too, until each returns not 0. */
int debug_walk_all(const struct debug_walk *walk, Dwarf *dwarf) _must_check_;
/* For each: the type_name_hash of the scopes around level[depth]. */
uint64_t debug_walk_scope(struct debug_level *level, unsigned int depth);
bool debug_walk_is_scope(int tag);
/* For enters: scopes of names, functions and their blocks. */
bool debug_walk_enters_functions(void *context, struct debug_level *level, unsigned int depth);
/* The name of an entry, "(anonymous namespace)" for one without; NULL: none. */
const char *debug_scope_name(Dwarf_Die *die, int tag);

#endif
