/* SPDX-License-Identifier: MIT */
/* type_shape.h - what a type of the debug information is, safely: cycles and lies are bounded. */
#ifndef MEMATTACH_LEAK_TYPE_SHAPE_H
#define MEMATTACH_LEAK_TYPE_SHAPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* An unsigned attribute; false: not there, or not a constant. */
bool type_number(Dwarf_Die *die, unsigned int attribute, uint64_t *ret);
/* The type that a variable, member, typedef, pointer or array has. */
bool type_of_entry(Dwarf_Die *die, Dwarf_Die *ret);
/*
 * Takes typedef, const, volatile, restrict and atomic off, and goes to type units. False:
 * void, or a cycle.
 */
bool type_strip(Dwarf_Die *type);
/* Bytes; 0: unknown, incomplete, or absurd. */
uint64_t type_size(const Dwarf_Die *type);
/* pre: stripped. Pointers and references; classes, structures and unions. */
bool type_is_pointer(Dwarf_Die *type);
bool type_is_record(Dwarf_Die *type);
/*
 * The number of elements of all dimensions of an array of which each is known. False: open at
 * its end (int x[]). A dimension's own count by type_next_dimension.
 */
bool type_element_count(Dwarf_Die *array, uint64_t *ret);
/*
 * Goes on to the next dimension of an array; *dimension zeroed before the first call.
 * False: no more. *ret_count 0: unknown.
 */
bool type_next_dimension(Dwarf_Die *array, Dwarf_Die *dimension, uint64_t *ret_count);

#endif
