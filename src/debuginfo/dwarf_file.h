/* SPDX-License-Identifier: MIT */
/*
 * dwarf_file.h - a module's ELF file and debug information, opened for libdw.
 *
 * Addresses in here are virtual addresses of the module's ELF file.
 */
#ifndef MEMATTACH_DWARF_FILE_H
#define MEMATTACH_DWARF_FILE_H

#include <elfutils/libdwfl.h>
#include <libelf.h>

#include "src/modules/modules.h"

/*
 * The module's main file, read by pread on demand or from its private copy;
 * NULL when there is neither. The caller ends it with elf_end(); module must live
 * at least as long.
 */
Elf *dwarf_file_elf(const struct module *module);

struct dwarf_file;
/*
 * Opens the module for names and lines. Its debug information may be in the file
 * itself or in a split file (build id, .gnu_debuglink with CRC, debuginfod),
 * which is looked for on first use. 0, -ENOENT there is no file, or none that is to be read any
 * more (module_read_names), -ENOMEM.
 */
int dwarf_file_open(const struct module *module, struct dwarf_file **ret) _must_check_;
void dwarf_file_close(struct dwarf_file *file);
/*
 * Its DWARF, borrowed, and what is added to the file's virtual addresses for those in it. NULL:
 * none, or none that is to be read any more. The first call looks for the files that it refers to.
 */
Dwarf *dwarf_file_dwarf(struct dwarf_file *file, Dwarf_Addr *ret_bias);
/* Bits of enum debug_missing: the debug information that is known to be missing so far, logged. */
uint32_t dwarf_file_missing(const struct dwarf_file *file);
/* Borrowed. Its addresses are the file's virtual ones plus the biases that libdwfl returns. */
Dwfl_Module *dwarf_file_module(const struct dwarf_file *file);

#endif
