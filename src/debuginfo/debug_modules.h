/* SPDX-License-Identifier: MIT */
/* debug_modules.h - the debug_index of each module. */
#ifndef MEMATTACH_LEAK_DEBUG_MODULES_H
#define MEMATTACH_LEAK_DEBUG_MODULES_H

#include "src/debuginfo/debug_index.h"

struct debug_modules;
/*
 * files: where modules' files are open; NULL: it opens them itself. files and the modules that are
 * asked about, all of one table, must outlive it. 0 or -ENOMEM.
 */
int debug_modules_new(struct dwarf_files *files, struct debug_modules **ret) _must_check_;
/* NULL is ignored. */
void debug_modules_free(struct debug_modules *debug);
/* Borrowed for the life of debug. NULL without memory. */
struct debug_index *debug_modules_get(struct debug_modules *debug, const struct module *module);
/* Whether the module of that id was asked for before. */
bool debug_modules_has(const struct debug_modules *debug, uint32_t id);

#endif
