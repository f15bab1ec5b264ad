/* SPDX-License-Identifier: MIT */
/* assigned_debug_private.h - what assigned_debug.c and assigned_scope.c share. */
#ifndef MEMATTACH_LEAK_ASSIGNED_DEBUG_PRIVATE_H
#define MEMATTACH_LEAK_ASSIGNED_DEBUG_PRIVATE_H

#include "src/base/elf_image.h"
#include "src/dwarf_file.h"
#include "src/leak/assigned_debug.h"

#define DEBUG_MAX_VISITS	(1u << 20)	/* entries that one question looks at */
#define DEBUG_MAX_DEPTH		64u		/* blocks in blocks, structs in namespaces */

struct code_range {
	uint64_t low, high;
	size_t index;		/* of the unit */
	Dwarf_Die die;		/* of the function */
};
struct code_ranges {
	struct code_range *range;
	size_t count, room;
};
struct unit {
	Dwarf_Die die, tree;	/* tree: of the split unit where there is one */
	bool built;
	struct code_ranges function;
};
struct global {
	bool thread;		/* address is an offset in the thread-local block */
	uint64_t address;
	Dwarf_Die die;
};
struct data_symbol {
	uint64_t address, size;
	const char *name;
};
struct debug_info {
	const struct module *module;
	struct dwarf_file *file;
	Dwarf *dwarf;		/* NULL: none */
	uint64_t bias;		/* added to its addresses gives ours */
	struct cfi_rules *cfi;
	struct unit *unit;
	size_t unit_count, unit_room;
	struct code_ranges unit_range;
	bool globals_built, symbols_built;
	struct global *global;
	size_t global_count, global_room;	/* sorted: by thread, address */
	struct data_symbol *symbol;
	size_t symbol_count;
	bool image_opened, has_image;
	struct elf_image image;	/* over the module's bytes, for the linkage table */
	uint64_t tls_bytes;	/* PT_TLS, rounded up to its alignment */
};

/* Calls each for every entry of the unit that is in no function, until it returns < 0. */
int assigned_walk_unit(Dwarf_Die *tree, int (*each)(void *context, Dwarf_Die *die), void *context);
/* The range that holds address; of overlapping ones, one of the eight that start last. */
const struct code_range *debug_find_range(const struct code_ranges *ranges, uint64_t address);
/* Makes the table of the unit's functions if there is none yet. 0 or -ENOMEM. */
int debug_build_unit(struct unit *unit);
/* Where the location says a variable is; scopes NULL: only static ones are found. */
void debug_read_place(struct debug_info *info, const struct debug_scopes *scopes,
		      Dwarf_Attribute *location, uint64_t address, struct debug_place *ret);

#endif
