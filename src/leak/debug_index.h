/* SPDX-License-Identifier: MIT */
/*
 * debug_index.h - variables and types of one module, by address and by name.
 *
 * From DWARF where there is some, else from the ELF symbols. Addresses here are virtual
 * addresses of the module's file; thread-local variables go by their offset in the module's
 * thread-local block. Opened and indexed on first use; functions are only
 * searched for static variables when nothing else holds an address.
 */
#ifndef MEMATTACH_LEAK_DEBUG_INDEX_H
#define MEMATTACH_LEAK_DEBUG_INDEX_H

#include <elfutils/libdw.h>

#include "src/modules.h"

#define DEBUG_NAME_BYTES 256u

struct debug_index;
struct debug_variable {
	uint64_t address, bytes;	/* bytes 0: not known */
	Dwarf_Die die;			/* addr NULL: known by its symbol only */
	char name[DEBUG_NAME_BYTES];	/* qualified, demangled, cut to fit */
};

/* module is borrowed. 0 or -ENOMEM. Without file or debug information, nothing is found in it. */
int debug_index_new(const struct module *module, struct debug_index **ret) _must_check_;
void debug_index_free(struct debug_index *index);
/* The variable that holds address; thread_local: address is an offset in the module's block. */
bool debug_index_variable(struct debug_index *index, uint64_t address, bool thread_local,
			  struct debug_variable *ret);
/* The complete class, structure or union whose qualified name has this type_name_hash. */
bool debug_index_type(struct debug_index *index, uint64_t name_hash, Dwarf_Die *ret);
/*
 * type_name_hash of the qualified name of a type, which may be a declaration only, found by
 * walking its unit. 0: not found.
 */
uint64_t debug_type_name_hash(Dwarf_Die *die);
/* The function whose code holds address. */
bool debug_index_function(struct debug_index *index, uint64_t address, Dwarf_Die *ret);
/*
 * Its name without parameters: from die (as found above, or an inlined one) when that is not
 * NULL, else from the symbol tables by address.
 */
bool debug_index_function_name(struct debug_index *index, uint64_t address, Dwarf_Die *die,
			       char text[DEBUG_NAME_BYTES]);
/* What must be added to a virtual address of the file for the DWARF's. */
uint64_t debug_index_bias(const struct debug_index *index);

#endif
