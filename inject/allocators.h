/* SPDX-License-Identifier: MIT */
/*
 * allocators.h - which modules of the target define allocation functions, and which.
 *
 * Finds names and addresses only; whether an entry can be patched is decided by
 * hook_planner. All input is hostile.
 */
#ifndef MEMATTACH_ALLOCATORS_H
#define MEMATTACH_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/hook_plan.h"
#include "inject/link_map.h"
#include "inject/symtab.h"

enum allocator_group {
	ALLOCATOR_STANDARD = 0,	/* malloc and its like; may carry a prefix */
	ALLOCATOR_OPERATOR,	/* C++ operators: only beside a malloc of the same module */
	ALLOCATOR_JEMALLOC,	/* its further entry points; may carry the prefix as well */
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_MAPPING,
	ALLOCATOR_LOADER,	/* the dynamic loader's notification; found by r_brk */
	ALLOCATOR_GROUPS
};

/* A known entry point. shape RING_SHAPE_NONE: known, but no hook of ours fits it. */
struct allocator_name {
	const char *symbol;
	const char *display;	/* NULL: the symbol */
	uint8_t group;		/* enum allocator_group */
	uint8_t shape;		/* enum ring_shape */
	bool throws;		/* may leave by an exception: a frame of ours needs unwind tables */
};

/* All known entry points, those that name an address best first; ends with symbol NULL. */
extern const struct allocator_name allocator_names[];
/* Prefixes of privately built jemallocs; starts with "", ends with NULL. */
extern const char *const allocator_prefixes[];

/* A module that defines some of them, kept open. */
struct allocator_module {
	struct elf_image image;
	struct symtab symtab;	/* of its file; empty unless has_symtab */
	bool has_symtab;
	bool is_exe;
	char path[HOOK_PATH_BYTES];
};

/* One entry point, each address once. */
struct allocator_symbol {
	const struct allocator_name *name;
	char display[HOOK_NAME_BYTES];
	uint64_t address, size;	/* size 0: the symbol does not say */
	uint16_t module, family;
	const char *skip;	/* why it can't be hooked whatever its code, or NULL. A constant. */
};

#define ALLOCATORS_MAX_MODULES	(2u * HOOK_MAX_FAMILIES)
#define ALLOCATORS_MAX_SYMBOLS	512u

struct allocators {
	size_t module_count, family_count, symbol_count;
	struct allocator_module module[ALLOCATORS_MAX_MODULES];
	struct hook_family family[HOOK_MAX_FAMILIES];	/* the active allocator first */
	struct allocator_symbol symbol[ALLOCATORS_MAX_SYMBOLS];
	size_t left_out;	/* symbols and families for which there was no room */
};

enum allocator_track { ALLOCATOR_TRACK_MALLOC = 1, ALLOCATOR_TRACK_MMAP = 2,
		       ALLOCATOR_TRACK_ALL = 3 };

/*
 * Gets the content of the file mapped at map (the mapping of its first page).
 * The bytes must stay until the search or the planning is over. 0 or -errno.
 */
typedef int allocator_file_fn(void *context, const struct procmap *map, struct planner_file *ret);

struct allocators_input {
	const struct elf_reader *reader;
	const struct procmaps *maps;
	const struct link_map_list *list;
	uint32_t track;			/* enum allocator_track */
	allocator_file_fn *file;	/* for the executable's .symtab; may be NULL */
	void *file_context;
};

/*
 * Looks through all modules in load order, so that the first definition, the one
 * that ld.so binds to, is the first family. The loader's notification is always
 * looked for. Modules that can't be read are passed
 * over. Free with allocators_free. 0 (perhaps without any family), -ENOMEM.
 */
int allocators_find(const struct allocators_input *input, struct allocators **ret) _must_check_;
/* Accepts NULL. */
void allocators_free(struct allocators *found);

/*
 * Opens the image of a module of the list and checks that it is the one the list
 * means. 0, -ENOENT not in maps, -ENOEXEC, -EBADMSG, -errno.
 */
int allocators_open_image(const struct allocators_input *input,
			  const struct link_map_module *module, struct elf_image *ret);

/* Symbol name of module, dynamic or by its file. 0, -ENOENT, -errno. */
int allocators_lookup(const struct allocator_module *module, const char *name,
		      struct elf_symbol *ret);

/* Index of the symbol at address, or -1. */
int allocators_symbol_at(const struct allocators *found, uint64_t address);
/*
 * The symbol that code of module reaches by a branch to target, through a stub of
 * its linkage table or not; -1: none. *ret_address (may be NULL) gets where the
 * branch leads, 0 when that is out of the module or unknown.
 */
int allocators_symbol_reached(const struct allocators *found,
			      const struct allocator_module *module, uint64_t target,
			      uint64_t *ret_address);

/* What becomes of a symbol, for allocators_helpers(). */
enum allocator_fate {
	ALLOCATOR_UNHOOKED = 0,	/* code like any other */
	ALLOCATOR_HOOKED,
	ALLOCATOR_FORWARDS,	/* a mere jump to one that is hooked */
	ALLOCATOR_OUTSIDE,	/* not hooked, but what it calls counts as if the program did */
};

/*
 * Finds the code of a module that calls hooked entries of the malloc family on
 * behalf of hooked ones: mimalloc's realloc frees by way of a function that is no
 * entry. fate is indexed by symbol. Fills ret with at most room ranges, unsorted.
 * Nothing is found in the executable, libc and ld.so: there the rest of the
 * program is reached as well. Returns their number; *ret_complete is false if
 * there were more or the walk met a limit. -ENOMEM.
 */
int allocators_helpers(const struct allocators *found, size_t module, const uint8_t *fate,
		       struct ring_range *ret, uint32_t room, bool *ret_complete) _must_check_;

/*
 * Fills ret (32 bytes) with the version of the allocator called family in module,
 * "" when it does not tell cheaply (allocator_version.c).
 */
void allocator_version(const struct allocator_module *module, const char *family, char ret[32]);

#endif
