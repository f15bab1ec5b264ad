/* SPDX-License-Identifier: MIT */
/* data_symbols.h - the variables among one ELF file's symbols, by address. */
#ifndef MEMATTACH_LEAK_DATA_SYMBOLS_H
#define MEMATTACH_LEAK_DATA_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct data_symbol {
	uint64_t address, bytes;	/* as the symbol table says; of TLS, offset in its block */
	const char *name;		/* linkage name; libdwfl's, lives as long as the Dwfl */
};
struct data_symbols;
/* 0 (also when there are none), or -ENOMEM. */
int data_symbols_new(Dwfl_Module *module, struct data_symbols **ret) _must_check_;
void data_symbols_free(struct data_symbols *symbols);
/* The one that holds address, or NULL. */
const struct data_symbol *data_symbols_find(const struct data_symbols *symbols, uint64_t address,
					    bool thread_local);

#endif
