/* SPDX-License-Identifier: MIT */
/* debug_walk.h - one compile unit's tree of debug information, in order, without recursion. */
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
	uint64_t scope;		/* type_name_hash of the scopes around it */
};
struct debug_walk {
	/*
	 * Whether to look at what lies in this entry. NULL: only in scopes of names (namespaces,
	 * classes), debug_walk_is_scope.
	 */
	bool (*enters)(void *context, struct debug_level *level);
	uint64_t *budget;	/* entries that may still be looked at; counted down */
	/* Called for every entry; level[depth] is the one. Not 0 ends the walk. */
	int (*each)(void *context, struct debug_level *level, unsigned int depth);
	void *context;
};
/* What each returned, or 0; -ENOMEM. unit: borrowed. */
int debug_walk_unit(const struct debug_walk *walk, Dwarf_Die *unit) _must_check_;
/* The same over all units of dwarf, type units and split ones too, until each returns not 0. */
int debug_walk_all(const struct debug_walk *walk, Dwarf *dwarf) _must_check_;
bool debug_walk_is_scope(int tag);
/* The name of an entry, "(anonymous namespace)" for one without; NULL: none. */
const char *debug_scope_name(Dwarf_Die *die, int tag);

#endif
