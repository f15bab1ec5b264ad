/* SPDX-License-Identifier: MIT */
/*
 * symtab.h - the full symbol table of an ELF file that is mapped as a module.
 *
 * Only for what the dynamic symbols do not tell: static programs, and
 * allocators that an executable keeps to itself. The file is hostile.
 */
#ifndef MEMATTACH_SYMTAB_H
#define MEMATTACH_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/elf/elf_image.h"
#include "src/plan/entry_decode.h"

#define SYMTAB_NAME_BYTES	64u
#define SYMTAB_MAX_SYMBOLS	(8u << 20)
#define SYMTAB_MAX_WANTED	1024u

/* The whole content of an ELF file. Borrowed. */
struct planner_file {
	const uint8_t *bytes;
	size_t size;
};

struct symtab_symbol {
	char name[SYMTAB_NAME_BYTES];
	uint64_t address, size;
	uint8_t type, binding;	/* STT_, STB_ */
};

struct symtab {
	size_t count;
	struct symtab_symbol *symbol;	/* the wanted ones, in the file's order */
	size_t function_count;
	struct entry_span *function;	/* all that have a size: sorted, overlaps merged */
};

/*
 * Reads the symbols of file for which wanted(context, name) is true and the extents of
 * all functions, at the addresses of image. Free with symtab_done. 0, -ESTALE
 * the file is not what is mapped, -ENOENT stripped, -EBADMSG broken, -ENOMEM, -errno.
 */
int symtab_read(const struct planner_file *file, const struct elf_image *image,
		bool (*wanted)(const void *context, const char *name), const void *context,
		struct symtab *ret) _must_check_;
/* Frees what symtab_read allocated; accepts a zeroed one. */
void symtab_done(struct symtab *table);
/*
 * Finds name among the wanted symbols, local ones only if there is no other. The
 * name in ret is the caller's. 0 or -ENOENT.
 */
int symtab_lookup(const struct symtab *table, const char *name, struct elf_symbol *ret);

#endif
