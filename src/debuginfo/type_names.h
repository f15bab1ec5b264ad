/* SPDX-License-Identifier: MIT */
/*
 * type_names.h - whether two spellings name the same type.
 *
 * The demangler writes Foo<char const*, unsigned long, 5ul>, gcc's DWARF the same type as
 * Foo<const char*, long unsigned int, 5>, clang's again otherwise.
 */
#ifndef MEMATTACH_LEAK_TYPE_NAMES_H
#define MEMATTACH_LEAK_TYPE_NAMES_H

#include <stdint.h>

/* Of the empty name, that is the global scope's. */
#define TYPE_NAME_EMPTY UINT64_C(0xcbf29ce484222325)

/*
 * Carries the hash of a scope on to that of scope::name: equal for all spellings
 * of the same name. Spaces, const and volatile, suffixes of numbers and the order of
 * words like "long unsigned int" do not count. name may be qualified itself.
 */
uint64_t type_name_hash(uint64_t scope, const char *name);

#endif
