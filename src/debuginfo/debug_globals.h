/* SPDX-License-Identifier: MIT */
/*
 * debug_globals.h - variables of one file that always are, by address, and its types, by name.
 *
 * Addresses are virtual addresses of the module's file; thread-local variables go by their
 * offset in the module's thread-local block. Indexed on first use.
 */
#ifndef MEMATTACH_LEAK_DEBUG_GLOBALS_H
#define MEMATTACH_LEAK_DEBUG_GLOBALS_H

#include "src/debuginfo/debug_file.h"

struct debug_global {
	uint64_t address;
	Dwarf_Die die;
	bool nested;		/* in a namespace, class or function */
};
struct debug_globals;
/* file is borrowed; it has a DWARF. 0 or -ENOMEM. */
int debug_globals_new(const struct debug_file *file, struct debug_globals **ret) _must_check_;
void debug_globals_free(struct debug_globals *globals);
/* From now on, static variables of functions, too. */
void debug_globals_add_functions(struct debug_globals *globals);
bool debug_globals_has_functions(const struct debug_globals *globals);
/* The last variable that begins at or before address, of whatever size. NULL: none. */
const struct debug_global *debug_globals_find(struct debug_globals *globals, uint64_t address,
					      bool thread_local);
/* The complete class, structure or union whose qualified name has this type_name_hash. */
bool debug_globals_type(struct debug_globals *globals, uint64_t name_hash, Dwarf_Die *ret);

#endif
