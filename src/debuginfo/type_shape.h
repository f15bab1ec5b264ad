/* SPDX-License-Identifier: MIT */
/*
 * type_shape.h - what a type of the debug information is: its kind, size and parts.
 *
 * The graph of types is hostile: cycles and lies are bounded. Any type may be asked about;
 * typedef, const, volatile, restrict and atomic are looked through.
 */
#ifndef MEMATTACH_LEAK_TYPE_SHAPE_H
#define MEMATTACH_LEAK_TYPE_SHAPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* An unsigned attribute; false: not there, or not a constant. */
bool type_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret);
/* The type that a variable, member, typedef, pointer or array has. False: void. */
bool type_of_entry(Dwarf_Die *die, Dwarf_Die *ret);
/*
 * The type without typedef and qualifiers, from its type unit if it stands in one; ret may be
 * type. False: void, or a cycle.
 */
bool type_strip(const Dwarf_Die *type, Dwarf_Die *ret);
/* Pointers and references; classes, structures and unions; arrays. */
bool type_is_pointer(const Dwarf_Die *type);
bool type_is_record(const Dwarf_Die *type);
bool type_is_array(const Dwarf_Die *type);
/* False for what can't hold a pointer: numbers of less than 8 bytes, floating point. */
bool type_may_point(const Dwarf_Die *type);
/* What a pointer or reference points to; false: it is none, or points to void. */
bool type_pointee(const Dwarf_Die *type, Dwarf_Die *ret);
/* The type of an array's elements; false: it is none. */
bool type_element(const Dwarf_Die *type, Dwarf_Die *ret);
/* Bytes; 0: unknown, incomplete, or absurd. */
uint64_t type_size(const Dwarf_Die *type);
/*
 * The number of elements of all dimensions of an array of which each is known. False: open at
 * its end (int x[]). A dimension's own count by type_next_dimension. pre: stripped.
 */
bool type_element_count(Dwarf_Die *array, uint64_t *ret);
/*
 * Goes on to the next dimension of an array; *dimension zeroed before the first call.
 * False: no more. *ret_count 0: unknown. pre: stripped.
 */
bool type_next_dimension(Dwarf_Die *array, Dwarf_Die *dimension, uint64_t *ret_count);
/* The type of the member called name (of bytes), those of base classes and nameless members too. */
bool type_member(const Dwarf_Die *type, const char *name, size_t bytes, Dwarf_Die *ret);

#endif
