/* SPDX-License-Identifier: MIT */
/* type_text.h - a type of the debug information as people write it. */
#ifndef MEMATTACH_LEAK_TYPE_TEXT_H
#define MEMATTACH_LEAK_TYPE_TEXT_H

#include <elfutils/libdw.h>

#define TYPE_TEXT_BYTES 128u

/* "struct node *", "int[]"; in C++ without struct. Cut to fit. */
void type_text(const Dwarf_Die *type, char text[TYPE_TEXT_BYTES]);

#endif
