/* SPDX-License-Identifier: MIT */
/* debug_file.h - a module's file as src/leak asks it: its DWARF, biases and thread-local block. */
#ifndef MEMATTACH_LEAK_DEBUG_FILE_H
#define MEMATTACH_LEAK_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "src/debuginfo/dwarf_files.h"

struct debug_file {
	struct dwarf_file *file;	/* borrowed; NULL: it can't be opened */
	Dwarf *dwarf;			/* NULL: none */
	uint64_t dwarf_bias;		/* added to the DWARF's addresses gives the file's */
	uint64_t symbol_bias;		/* added to the file's: those of the symbol tables */
	uint64_t tls_low, tls_bytes;	/* PT_TLS: where the file has first values */
	uint64_t tls_end;		/* bytes from a program's own block to fs; 0: a library */
};
/* *ret borrows from files and module. What can't be had is NULL or 0. */
void debug_file_open(const struct module *module, struct dwarf_files *files,
		     struct debug_file *ret);

#endif
