/* SPDX-License-Identifier: MIT */
/*
 * debug_scopes.h - what surrounds a place in the code: functions, inlined calls, their variables.
 *
 * Addresses are virtual addresses of the module's ELF file. DIEs live as long as the index.
 */
#ifndef MEMATTACH_LEAK_DEBUG_SCOPES_H
#define MEMATTACH_LEAK_DEBUG_SCOPES_H

#include "src/debuginfo/debug_index.h"
#include "src/debuginfo/debug_place.h"

#define SCOPES_MAX_LEVELS	32u
#define SCOPES_MAX_VARIABLES	1024u

/* How far a variable is from being what a person at the call would name. */
enum scope_rank {
	SCOPE_HERE = 0,
	SCOPE_OTHER_BLOCK,	/* of the same functions: its scope begins later */
	SCOPE_OTHER_CALL,	/* of a call that was inlined beside this place */
};
struct scope_variable {
	Dwarf_Die die;
	uint8_t rank;		/* enum scope_rank */
	uint8_t level;		/* of the function it belongs to, as in debug_scopes */
	uint16_t depth;		/* of its block: deeper ones hide others */
};
struct scope_level {
	Dwarf_Die die;		/* a function, or an inlined call */
	const char *name;	/* NULL: none */
	uint32_t line;		/* where the function is declared, 0 unknown */
	bool returns_pointer;
};
/* Level 0 is the innermost inlined call, the last one is the function. */
struct debug_scopes {
	uint64_t address;
	struct scope_level level[SCOPES_MAX_LEVELS];
	unsigned int level_count;
	struct scope_variable variable[SCOPES_MAX_VARIABLES];	/* of all levels */
	unsigned int variable_count;
	Dwarf_Die unit;
	uint64_t low, high;	/* of the function's range that holds address */
	uint64_t bias;		/* added to an address gives the DWARF's */
};
/* 0, or -ENOENT: no debug information there; -ENOMEM. */
int debug_scopes_read(struct debug_index *index, uint64_t address, struct debug_scopes *ret)
	_must_check_;
/* Where variable is while the processor stands at address; a static one by the file's address. */
void debug_scopes_place(const struct debug_scopes *scopes, const struct scope_variable *variable,
			uint64_t address, struct debug_place *ret);
/*
 * The variable called name (of bytes) of the function at level that a person at the place means;
 * *ret_static: it is a static one.
 */
bool debug_scopes_local(const struct debug_scopes *scopes, unsigned int level, const char *name,
			size_t bytes, Dwarf_Die *ret, bool *ret_static);
/* The unit's variable of that name that is in no function. Walks the whole unit. */
bool debug_scopes_named(const struct debug_scopes *scopes, const char *name, size_t bytes,
			Dwarf_Die *ret);
/*
 * The static variable of the functions that holds address (thread_local: an offset in the
 * module's block), and how far in.
 */
bool debug_scopes_static(const struct debug_scopes *scopes, uint64_t address, bool thread_local,
			 Dwarf_Die *ret, uint64_t *ret_offset);

#endif
