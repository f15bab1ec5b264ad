/* SPDX-License-Identifier: MIT */
/*
 * assigned_type.h - C and C++ types of debug information: names, sizes, parts.
 *
 * The graph of types is hostile: it may have cycles. Every walk is bounded.
 */
#ifndef MEMATTACH_LEAK_ASSIGNED_TYPE_H
#define MEMATTACH_LEAK_ASSIGNED_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define TYPE_TEXT	128u

/* The type of a variable, member or pointer (through its origin or specification). False: void. */
bool assigned_type_of(Dwarf_Die *die, Dwarf_Die *ret);
/* Without typedefs and qualifiers. False: it ends in void or nowhere. */
bool assigned_type_strip(const Dwarf_Die *type, Dwarf_Die *ret);
/* What a pointer or reference points to; false: it is none, or points to void. */
bool assigned_type_pointee(const Dwarf_Die *type, Dwarf_Die *ret);
bool assigned_type_is_pointer(const Dwarf_Die *type);
/* False for what can't hold a pointer: numbers of less than 8 bytes, floating point. */
bool assigned_type_may_point(const Dwarf_Die *type);
bool assigned_type_is_struct(const Dwarf_Die *type);
/* In bytes; 0: not known, or nothing. */
uint64_t assigned_type_size(const Dwarf_Die *type);
/* As people write it: "struct node *"; in C++ without struct. */
void assigned_type_name(const Dwarf_Die *type, char text[TYPE_TEXT]);
/*
 * The part at offset of an object of type: adds ".next", "[3].x" to text (terminated, of bytes)
 * and gives the part's type, which is no struct unless there is nothing at offset. False:
 * offset is outside of it, or between its parts.
 */
bool assigned_type_descend(const Dwarf_Die *type, uint64_t offset, char *text, size_t bytes,
			   Dwarf_Die *ret);
/* The type of the member called name (of bytes), those of base classes and nameless members too. */
bool assigned_type_member(const Dwarf_Die *type, const char *name, size_t bytes, Dwarf_Die *ret);
/* The element type of an array; false: it is none. */
bool assigned_type_element(const Dwarf_Die *type, Dwarf_Die *ret);

#endif
