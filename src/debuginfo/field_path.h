/* SPDX-License-Identifier: MIT */
/*
 * field_path.h - the member at an offset: "buckets[17]", "session.user.name".
 *
 * Debug information is hostile: every path is bounded.
 */
#ifndef MEMATTACH_LEAK_FIELD_PATH_H
#define MEMATTACH_LEAK_FIELD_PATH_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define FIELD_MAX_STEPS 24u

/* A type; die.addr NULL: not known. Borrowed from the debug information it came from. */
struct field_type {
	Dwarf_Die die;
};
struct field_step {
	const char *name;	/* a member; NULL: an index */
	int64_t index;
};
/* How much a path is worth. */
enum field_fit {
	FIELD_NONE = 0,
	FIELD_PART,		/* ends in the midst of something, or where nothing is */
	FIELD_VALUE,		/* ends at a number that is no pointer */
	FIELD_WORD,		/* ends at an integer as large as a pointer */
	FIELD_POINTER,		/* ends at a pointer */
};
struct field_path {
	enum field_fit fit;
	unsigned int count;
	struct field_step step[FIELD_MAX_STEPS];	/* no base classes, no unnamed members */
	struct field_type leaf;	/* what is at its end, as it was declared */
	struct field_type element; /* of the C++ list, tree or hash table that it goes through */
};
struct field_search {
	/* Replaces a type that is only declared by its definition, if there is one. May be NULL. */
	bool (*complete)(void *context, Dwarf_Die *type);
	void *context;
	bool open;		/* an array at the very end may be longer than it says */
};
/* The path in type to offset that ends in a pointer, or else the best; FIELD_NONE: none. */
void field_path_find(const struct field_search *search, const Dwarf_Die *type, uint64_t offset,
		     struct field_path *ret);
/* Adds ".next", "[3].x" to text (terminated, of bytes). False: it was cut. */
bool field_path_append(const struct field_path *path, char *text, size_t bytes);

#endif
