/* SPDX-License-Identifier: MIT */
/* assigned_name.h - names of functions and variables: short forms, comparison, types. */
#ifndef MEMATTACH_LEAK_ASSIGNED_NAME_H
#define MEMATTACH_LEAK_ASSIGNED_NAME_H

#include "src/debuginfo/debug_scopes.h"
#include "src/symbolize/symbolize.h"

#define ASSIGNED_NAME_BYTES	96u

/*
 * "total" of "shop::order<int>::total(int) const": as a caller writes it. "" for NULL and for what
 * has no such form.
 */
void assigned_name_short(const char *function, char name[ASSIGNED_NAME_BYTES]);
bool assigned_name_is_constructor(const char *function);
/* Code of the C++ library or of a system header: between the allocator and the program. */
bool assigned_name_is_library(const struct symbol_frame *frame);
/* Whether two texts of variables mean the same one, as far as their last words say. */
bool assigned_name_same(const char *a, const char *b);
/* The type of "s->list[i].buf" where scopes are, in the function at level; false: not known. */
bool assigned_name_type(const struct debug_scopes *scopes, unsigned int level, const char *text,
			Dwarf_Die *ret);

#endif
