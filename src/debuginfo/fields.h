/* SPDX-License-Identifier: MIT */
/*
 * fields.h - what lies at an offset: from variables and types to paths of fields.
 *
 * "buckets[17]", "session.user.name": a path is a list of members and indexes, with the type
 * at its end, from which the next block's type follows when that is a pointer.
 * Debug information is hostile: every path is bounded.
 */
#ifndef MEMATTACH_LEAK_FIELDS_H
#define MEMATTACH_LEAK_FIELDS_H

#include <elfutils/libdw.h>

#include "src/debuginfo/debug_index.h"
#include "src/debuginfo/field_path.h"
#include "src/modules/modules.h"

/* What is known of a block: type at base; more of it before and behind when it is an array. */
struct field_view {
	struct field_type type;
	uint64_t base;		/* where in the block the pointer points that led here */
	bool array;		/* certainly an array, as a std::vector's */
	uint64_t node;		/* bytes of links before type, of a node of a container; else 0 */
	struct field_type element;	/* of the container that the block is a part of */
};

struct field_variable {
	struct debug_variable variable;	/* address: in the process; of TLS in the block */
	const struct module *module;
	struct field_type type;
};

struct fields;
/* modules is borrowed and must outlive the fields. 0 or -ENOMEM. */
int fields_new(const struct modules *modules, struct fields **ret) _must_check_;
void fields_free(struct fields *fields);
/* The index of a module, for lookups of other kinds. NULL without memory. */
struct debug_index *fields_index(struct fields *fields, const struct module *module);
/* The variable at an address of the process. */
bool fields_global(struct fields *fields, uint64_t address, struct field_variable *ret);
/* The variable at offset in the thread-local block of module. */
bool fields_thread_local(struct fields *fields, const struct module *module, uint64_t offset,
			 struct field_variable *ret);
/* The class of that name as the demangler writes it; asks the module at address near first. */
bool fields_type_named(struct fields *fields, uint64_t near, const char *name,
		       struct field_type *ret);
/* The type that a variable has. */
bool fields_type_of(Dwarf_Die *variable, struct field_type *ret);
uint64_t fields_size(const struct field_type *type);
/* The path in a variable of type to offset; ret->fit FIELD_NONE: none. */
void fields_walk(struct fields *fields, const struct field_type *type, uint64_t offset,
		 struct field_path *ret);
/* The same in a block of bytes that is seen through view. */
void fields_walk_block(struct fields *fields, const struct field_view *view, uint64_t bytes,
		       uint64_t offset, struct field_path *ret);
/*
 * How to see the block that the pointer at path's end leads to; before: how the block was
 * seen in which that pointer lies (NULL: it lies in a variable); base: where in the
 * block it points. False: its type is not known.
 */
bool fields_follow(struct fields *fields, const struct field_path *path,
		   const struct field_view *before, uint64_t base, struct field_view *ret);

#endif
