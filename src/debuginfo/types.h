/* SPDX-License-Identifier: MIT */
/*
 * types.h - what a block is, from its own first word: the C++ class by its vtable.
 *
 * Needs no symbols and no debug information: the run-time type information of the Itanium
 * C++ ABI lies in memory. Code built with -fno-rtti has none.
 */
#ifndef MEMATTACH_LEAK_TYPES_H
#define MEMATTACH_LEAK_TYPES_H

#include "src/memory/picture.h"
#include "src/modules/modules.h"

#define TYPES_LABEL_BYTES 64u

struct types;
/* Both are borrowed and must outlive the types. 0 or -ENOMEM. */
int types_new(const struct picture *picture, const struct modules *modules,
	      struct types **ret) _must_check_;
void types_free(struct types *types);
/*
 * The class of the block of bytes at address ("ns::Session"), as demangled; NULL: it begins with
 * no vtable pointer, or with that of a part of an object only (the block is no
 * object's start), or nothing can be known. Valid for the life of types.
 */
const char *types_of(struct types *types, uint64_t address, uint64_t bytes);
/* The same for who has read the block's first word already. */
const char *types_of_vtable(struct types *types, uint64_t first_word);
/*
 * The last block size of the class that bytes falls in: exact up to 512, above that four
 * classes for each doubling. 0 for 0.
 */
uint64_t types_size_class(uint64_t bytes);
/* A label for blocks of no known type: "block of 64 bytes", "block of 641 to 768 bytes". */
const char *types_size_label(uint64_t bytes, char text[TYPES_LABEL_BYTES]);

#endif
