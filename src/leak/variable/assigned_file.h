/* SPDX-License-Identifier: MIT */
/* assigned_file.h - source files that debug information names, as far as they are here. */
#ifndef MEMATTACH_LEAK_ASSIGNED_FILE_H
#define MEMATTACH_LEAK_ASSIGNED_FILE_H

#include "src/base/file_reader.h"
#include "src/leak/variable/assigned_lexer.h"

struct source_file;
struct source_files;
/*
 * root: a folder in which files are looked for that are not where their path says, with
 * ever shorter ends of the path; copied, may be NULL. reader: by whom they must be readable;
 * borrowed, NULL: the process that opens files for this one asks (sandbox/opener.h). 0 or -ENOMEM.
 */
int assigned_files_new(const char *root, const struct file_reader *reader,
		       struct source_files **ret) _must_check_;
void assigned_files_free(struct source_files *files);
/* Has path a name that source files have? Nothing else is opened. */
bool assigned_file_is_source(const char *path);
/*
 * The file of path (as debug information has it), NULL if there is none that may be read.
 * Borrowed until the next call.
 */
struct source_file *assigned_file_get(struct source_files *files, const char *path);
/* From now on file, and what points into it, stays until another one is kept. */
void assigned_files_keep(struct source_files *files, const struct source_file *file);
/* When it was changed last, in seconds since 1970. */
int64_t assigned_file_time(const struct source_file *file);
/* Line number (from 1), without its end; NULL: it has none such. Borrowed like file. */
const char *assigned_file_line(struct source_file *file, uint32_t number, size_t *ret_bytes);
/*
 * What follows the first "#define " of name (of bytes), from the name to the end of the
 * definition; NULL: none. Borrowed like file.
 */
const char *assigned_file_define(const struct source_file *file, const char *name, size_t bytes,
				 size_t *ret_bytes);
/*
 * The tokens of lines [first, last], or of some more; they point into file. 0; -ENOENT the
 * file has no such line; -ENOMEM.
 */
struct source_window {
	uint32_t first, last;
	uint32_t wanted;	/* the line that matters, for #if */
};
int assigned_file_lex(struct source_file *file, const struct source_window *window,
		      struct tokens *ret) _must_check_;

#endif
