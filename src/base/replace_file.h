/* SPDX-License-Identifier: MIT */
/* replace_file.h - a file that readers see whole: as it was, or as it is now. */
#ifndef MEMATTACH_BASE_REPLACE_FILE_H
#define MEMATTACH_BASE_REPLACE_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* Writes the contents. 0 or -errno; errors of out need no look. */
typedef int replace_file_write(FILE *out, const void *context);
/*
 * Writes PATH.new and gives it the name path. PATH.new is made anew: whatever has that name (a rest
 * of a killed process, a link, a FIFO that nobody reads) is removed, never opened. mode: its
 * permissions, whatever the umask is. 0; -EISDIR a folder has the name PATH.new; -EEXIST somebody
 * keeps taking that name; -errno. After an error path is as it was.
 */
int replace_file(const char *path, mode_t mode, replace_file_write *write, const void *context)
	_must_check_;

#endif
