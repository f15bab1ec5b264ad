/* SPDX-License-Identifier: MIT */
/*
 * assigned_debug.h - variables of one module by scope, place and address.
 *
 * Addresses are virtual addresses of the module's ELF file. DIEs live as long as the
 * debug_info.
 */
#ifndef MEMATTACH_LEAK_ASSIGNED_DEBUG_H
#define MEMATTACH_LEAK_ASSIGNED_DEBUG_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cfi_rule.h"
#include "src/modules.h"

#define DEBUG_MAX_LEVELS	32u
#define DEBUG_MAX_VARIABLES	1024u

struct debug_info;
/* 0; -ENOENT no file; -ENOMEM. A file without debug information still has its symbols. */
int assigned_debug_open(const struct module *module, struct debug_info **ret) _must_check_;
void assigned_debug_close(struct debug_info *info);

/* How far a variable is from being what a person at the call would name. */
enum debug_rank {
	DEBUG_IN_SCOPE = 0,
	DEBUG_OTHER_BLOCK,	/* of the same functions: its scope begins later */
	DEBUG_OTHER_CALL,	/* of a call that was inlined beside this place */
};
struct debug_variable {
	Dwarf_Die die;
	uint8_t rank;		/* enum debug_rank */
	uint8_t level;		/* of the function it belongs to, as in debug_scopes */
	uint16_t depth;		/* of its block: deeper ones hide others */
};
struct debug_level {
	Dwarf_Die die;		/* a function, or an inlined call */
	const char *name;	/* NULL: none */
	uint32_t line;		/* where the function is declared, 0 unknown */
	bool returns_pointer;
};
/* What surrounds an address: level 0 is the innermost inlined call, the last the function. */
struct debug_scopes {
	uint64_t address;
	struct debug_level level[DEBUG_MAX_LEVELS];
	unsigned int level_count;
	struct debug_variable variable[DEBUG_MAX_VARIABLES];	/* of all levels */
	unsigned int variable_count;
	Dwarf_Die unit;
	uint64_t low, high;	/* of the function's range that holds address */
};
/* 0, or -ENOENT: no debug information there; -ENOMEM. */
int assigned_debug_scopes(struct debug_info *info, uint64_t address, struct debug_scopes *ret)
	_must_check_;

enum debug_where {
	DEBUG_NOWHERE = 0,	/* not there, or in a way that is no single place */
	DEBUG_REGISTER,		/* in reg */
	DEBUG_MEMORY,		/* at reg + offset */
	DEBUG_STATIC,		/* at address offset */
	DEBUG_THREAD,		/* at offset of the module's thread-local storage */
};
struct debug_place {
	enum debug_where where;
	unsigned int reg;	/* DWARF number: 0 rax, 7 rsp, 6 rbp */
	int64_t offset;
};
/* Where variable is while the processor stands at address. */
void assigned_debug_place(struct debug_info *info, const struct debug_scopes *scopes,
			  const struct debug_variable *variable, uint64_t address,
			  struct debug_place *ret);
/*
 * The variable called name (of bytes) of the function at level that a person at the place means;
 * *ret_static: it is a static one.
 */
bool assigned_debug_local(const struct debug_scopes *scopes, unsigned int level, const char *name,
			  size_t bytes, Dwarf_Die *ret, bool *ret_static);
/* The unit's variable of that name that is in no function. Walks the whole unit. */
bool assigned_debug_named(const struct debug_scopes *scopes, const char *name, size_t bytes,
			  Dwarf_Die *ret);
/* The static variable of the scopes' functions that holds address, and how far in. */
bool assigned_debug_static(struct debug_info *info, const struct debug_scopes *scopes,
			   uint64_t address, Dwarf_Die *ret, uint64_t *ret_offset);
/* The same for global variables. */
bool assigned_debug_global(struct debug_info *info, uint64_t address, Dwarf_Die *ret,
			   uint64_t *ret_offset);
/* The same from the symbol tables, for data without debug information; NULL: none. */
const char *assigned_debug_symbol(struct debug_info *info, uint64_t address,
				  uint64_t *ret_offset);
/* The function that the linkage table's stub at address is for; "" none. */
void assigned_debug_stub(struct debug_info *info, uint64_t address, char name[64]);
/* The thread-local variable of a program that lies at this distance from fs (below 0). */
bool assigned_debug_thread(struct debug_info *info, const struct debug_scopes *scopes,
			   int64_t from_fs, Dwarf_Die *ret, uint64_t *ret_offset);

#endif
