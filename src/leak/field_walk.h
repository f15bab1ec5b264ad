/* SPDX-License-Identifier: MIT */
/* field_walk.h - the search for the member at an offset. Behind fields.h; for fields.c only. */
#ifndef MEMATTACH_LEAK_FIELD_WALK_H
#define MEMATTACH_LEAK_FIELD_WALK_H

#include "src/leak/fields.h"

struct field_walk {
	struct fields *fields;
	struct field_path *path;	/* zeroed; the result */
	bool open;			/* an array at the very end may be longer than it says */
};
/* Finds the path in type to offset that ends in a pointer, or else the best there is. */
void field_walk_run(const struct field_walk *walk, const Dwarf_Die *type, uint64_t offset);
/* Replaces a type that is only declared by its definition. False: there is none. */
bool field_complete(struct fields *fields, Dwarf_Die *type);

#endif
