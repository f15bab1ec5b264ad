/* SPDX-License-Identifier: MIT */
/*
 * debug_names.h - names of variables, functions and types as people write them.
 *
 * Qualified, demangled, and cut to fit. DIEs are walked to from their unit on demand.
 */
#ifndef MEMATTACH_LEAK_DEBUG_NAMES_H
#define MEMATTACH_LEAK_DEBUG_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define DEBUG_NAME_BYTES 256u

/* From the symbol of a variable; that of a function, without its parameters. */
void debug_name_symbol(const char *symbol, char text[DEBUG_NAME_BYTES]);
void debug_name_function_symbol(const char *symbol, char text[DEBUG_NAME_BYTES]);
/* nested: it lies in a namespace, class or, if functions is set, function. */
void debug_name_variable(Dwarf_Die *variable, bool nested, bool functions,
			 char text[DEBUG_NAME_BYTES]);
/* Without its parameters; it may be an inlined call. */
void debug_name_function(Dwarf_Die *function, char text[DEBUG_NAME_BYTES]);
/* The type_name_hash of a type, which may be a declaration only. 0: it has no name. */
uint64_t debug_name_hash(Dwarf_Die *type);

#endif
