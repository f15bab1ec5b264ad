/* SPDX-License-Identifier: MIT */
/*
 * dwarf_files.h - the dwarf_file of each module, opened by the first question about it.
 *
 * libdw keeps what it has read of a file: opened a second time, a large file takes its memory
 * twice. So names, lines, types and variables of one process share one of these.
 */
#ifndef MEMATTACH_DWARF_FILES_H
#define MEMATTACH_DWARF_FILES_H

#include "src/debuginfo/dwarf_file.h"
#include "src/modules/modules.h"

struct dwarf_files;
/* 0 or -ENOMEM. */
int dwarf_files_new(struct dwarf_files **ret) _must_check_;
/* Closes them all. NULL is ignored. */
void dwarf_files_free(struct dwarf_files *files);
/*
 * module's; NULL: it has none that may be read, or there was no memory. Borrowed for the life of
 * files, for which module must live, too.
 */
struct dwarf_file *dwarf_files_get(struct dwarf_files *files, const struct module *module);

#endif
