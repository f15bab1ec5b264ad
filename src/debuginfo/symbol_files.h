/* SPDX-License-Identifier: MIT */
/*
 * symbol_files.h - the file with a given build id, wherever it may be: for modules of a recording,
 * which may have come from another machine.
 */
#ifndef MEMATTACH_SYMBOL_FILES_H
#define MEMATTACH_SYMBOL_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "src/modules/modules.h"

struct symbol_files;
/*
 * folder: looked in first, each for its .build-id tree, for path under it and for path's last
 * part; borrowed. 0 or -ENOMEM.
 */
int symbol_files_new(const char *const *folder, size_t count, struct symbol_files **ret)
	_must_check_;
void symbol_files_free(struct symbol_files *files);
/*
 * Adds to modules the first file with that build id, hex ("": there is none to be sure by), in: the
 * folders, path, /usr/lib/debug/.build-id, debuginfod. tried gets, for people, where it was
 * looked for, and why each was not it, up to the file. 0 and the module's id, -ENOENT, -ENOMEM.
 */
int symbol_files_find(struct symbol_files *files, const char *path, const char *build_id,
		      struct modules *modules, FILE *tried, uint32_t *ret_id) _must_check_;
/*
 * Has debuginfod's client fetch the debug information with that build id to where libdw looks.
 * True: it is there now; tried says what else.
 */
bool symbol_files_fetch_debug(struct symbol_files *files, const char *build_id, FILE *tried);

/*
 * Debug information with that build id, hex, that debuginfod's client once fetched, where
 * DEBUGINFOD_URLS is set: its file, read without the client, which would write to its cache and
 * connect to servers. A descriptor or -ENOENT.
 */
int symbol_files_open_fetched(const char *build_id) _must_check_;
/* Is path such a file's, as symbol_files_open_fetched() writes it? */
bool symbol_files_is_fetched(const char *path);

#endif
