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

#include "inject/attach/hook_plan.h"
#include "src/elf/link_map.h"
#include "src/plan/custom_functions.h"
#include "src/plan/symtab.h"

enum allocator_group {
	ALLOCATOR_STANDARD = 0,	/* malloc and its like; may carry a prefix */
	ALLOCATOR_OPERATOR,	/* C++ operators: only beside a malloc of the same module */
	ALLOCATOR_JEMALLOC,	/* its further entry points; may carry the prefix as well */
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_MAPPING,
	ALLOCATOR_LOADER,	/* the dynamic loader's notification; found by r_brk */
	ALLOCATOR_CONFINING,	/* by which a program sandboxes itself: libc's */
	ALLOCATOR_CUSTOM,	/* a function of the program's own that the user names */
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
	struct ring_arguments arguments;	/* ALLOCATOR_CUSTOM */
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
	bool has_custom[CUSTOM_MAX_FUNCTIONS];	/* the user's functions that were found */
};

/* "glibc", "jemalloc", ...: whose malloc the module's is. prefix: of its name. A constant. */
const char *allocator_family(const struct allocator_module *module, const char *prefix);
/* Is thread-local storage read whenever one of its functions is called? See RING_ISLAND_TLS. */
bool allocator_uses_tls(const char *family);
/*
 * May callers that were compiled together with it know which registers it leaves alone
 * (gcc -fipa-ra), and keep something there during a call?
 */
bool allocator_is_known_to_callers(const char *family);

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
	const struct custom_functions *custom;	/* may be NULL */
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
 * The symbol that a branch of module to *target reaches, through a stub of its
 * linkage table or not; -1: none known. Behind a stub *target becomes the function
 * of the module that the stub is for, or 0.
 */
int allocators_symbol_reached(const struct allocators *found,
			      const struct allocator_module *module, uint64_t *target);

/* Where a branch of an allocator leads. */
enum allocator_target {
	ALLOCATOR_NOWHERE = 0,	/* out of the module, or to what must not be gone into */
	ALLOCATOR_CODE,		/* a function of the module */
	ALLOCATOR_HOOKED,	/* an entry that is hooked, of the malloc family */
};

/* What the hooked entries of a module reach in it. The first part is the caller's to fill. */
struct allocator_reach {
	const struct elf_image *image;
	/* Tells what is at address, which may be a stub; *ret_address: of ALLOCATOR_CODE. */
	enum allocator_target (*target)(void *context, uint64_t address, uint64_t *ret_address);
	void *context;
	bool find_helpers;	/* else only jumps are followed */
	uint32_t entry_count;
	uint64_t entry[RING_MAX_ENTRIES];	/* its hooked entries of the malloc family */

	bool jumps_on[RING_MAX_ENTRIES];	/* the entry may end in a jump to a hooked one */
	bool cut;		/* more than there is room for, here or while searching */
	uint32_t helper_count;
	struct ring_range helper[2 * RING_MAX_ENTRIES];	/* unsorted; see hook_plan.helper */
};

/* Fills the second part of reach, which must be zero. 0, -ENOMEM. */
int allocators_reach(struct allocator_reach *reach) _must_check_;

/*
 * Fills ret (32 bytes) with the version of the allocator called family in module,
 * "" when it does not tell cheaply (allocator_version.c).
 */
void allocator_version(const struct allocator_module *module, const char *family, char ret[32]);
/* How usable sizes of that family's blocks can be known (allocator_usable.c). */
struct counts_usable allocator_usable(const struct allocator_module *module, const char *family,
				      const char *prefix);

#endif
