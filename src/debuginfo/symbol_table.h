/* SPDX-License-Identifier: MIT */
/* symbol_table.h - the functions of one ELF file, sorted by address. */
#ifndef MEMATTACH_SYMBOL_TABLE_H
#define MEMATTACH_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct symbol {
	uint64_t address;	/* in the Dwfl's terms */
	uint64_t size;		/* 0: not known */
	uint64_t reach;		/* bytes to the end of its section, 0: not known */
	const char *name;	/* linkage name; valid as long as the Dwfl */
	const char *file;	/* of a static function: its source, no folders; NULL: unknown */
	uint32_t rank;		/* for choosing among equals; lower is better */
};

struct symbol_table;
/*
 * Reads .symtab, .dynsym and .gnu_debugdata, of the split debug file too, as
 * libdwfl finds them. 0 (also for none at all) or -ENOMEM.
 */
int symbol_table_new(Dwfl_Module *module, struct symbol_table **ret) _must_check_;
void symbol_table_free(struct symbol_table *table);
/* The function that holds address, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);
size_t symbol_table_count(const struct symbol_table *table);

#endif
