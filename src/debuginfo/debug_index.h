/* SPDX-License-Identifier: MIT */
/*
 * debug_index.h - variables, types and functions of one module, by address and by name.
 *
 * From DWARF where there is some, else from the ELF symbols. Addresses here are virtual
 * addresses of the module's file; thread-local variables go by their offset in the module's
 * thread-local block. Opened and indexed on first use; functions are only
 * searched for static variables when nothing else holds an address. DIEs live as long as the
 * index.
 */
#ifndef MEMATTACH_LEAK_DEBUG_INDEX_H
#define MEMATTACH_LEAK_DEBUG_INDEX_H

#include <elfutils/libdw.h>

#include "src/debuginfo/debug_names.h"
#include "src/debuginfo/debug_stubs.h"
#include "src/debuginfo/debug_units.h"
#include "src/debuginfo/dwarf_files.h"

struct debug_index;
struct debug_variable {
	uint64_t address, bytes;	/* bytes 0: not known */
	Dwarf_Die die;			/* addr NULL: known by its symbol only */
	char name[DEBUG_NAME_BYTES];
};

/*
 * module and files are borrowed. Without file or debug information, nothing is found. 0 or
 * -ENOMEM.
 */
int debug_index_new(const struct module *module, struct dwarf_files *files,
		    struct debug_index **ret) _must_check_;
void debug_index_free(struct debug_index *index);
/* The variable that holds address; thread_local: address is an offset in the module's block. */
bool debug_index_variable(struct debug_index *index, uint64_t address, bool thread_local,
			  struct debug_variable *ret);
/* The same without its name, for those outside of functions; *ret_offset: how far in. */
bool debug_index_global(struct debug_index *index, uint64_t address, bool thread_local,
			Dwarf_Die *ret, uint64_t *ret_offset);
/* The data symbol that holds address; NULL: none. */
const char *debug_index_symbol(struct debug_index *index, uint64_t address, uint64_t *ret_offset);
/* The complete class, structure or union whose qualified name has this type_name_hash. */
bool debug_index_type(struct debug_index *index, uint64_t name_hash, Dwarf_Die *ret);
/* The function whose code holds address; ret's range is the file's. 0, -ENOENT or -ENOMEM. */
int debug_index_function(struct debug_index *index, uint64_t address, struct debug_function *ret)
	_must_check_;
/*
 * Its name without parameters: from die (as found above, or an inlined one) when that is not
 * NULL, else from the symbol tables by address.
 */
bool debug_index_function_name(struct debug_index *index, uint64_t address, Dwarf_Die *die,
			       char text[DEBUG_NAME_BYTES]);
/* The function that the linkage table's stub at address is for; "" none. */
void debug_index_stub(struct debug_index *index, uint64_t address, char name[PLT_NAME_BYTES]);
/* What must be added to a virtual address of the file for the DWARF's. */
uint64_t debug_index_bias(struct debug_index *index);
/* Bytes from the thread-local block of a program to where fs points; 0: a library, or none. */
uint64_t debug_index_tls_end(struct debug_index *index);

#endif
