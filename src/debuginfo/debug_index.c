/* SPDX-License-Identifier: MIT */
/*
 * debug_index.c - variables, types and functions of one module, by address and by name.
 *
 * Holds what can be asked of one file, and asks each of it for the first time when it is needed:
 * a report names a handful of blocks, and most files are never opened for it. Where debug
 * information says nothing, or not how large a variable is, the symbols do.
 */
#include "src/debuginfo/debug_index.h"

#include <errno.h>
#include <stdio.h>

#include "src/debuginfo/data_symbols.h"
#include "src/debuginfo/debug_globals.h"
#include "src/debuginfo/symbol_table.h"
#include "src/debuginfo/type_shape.h"

struct debug_index {
	const struct module *module;
	struct dwarf_files *files;
	struct debug_file file;
	struct data_symbols *symbols;
	struct symbol_table *functions;
	struct debug_globals *globals;
	struct debug_units *units;
	struct debug_stubs stubs;
	bool opened, has_symbols;
};

int debug_index_new(const struct module *module, struct dwarf_files *files,
		    struct debug_index **ret)
{
	struct debug_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->module = module;
	index->files = files;
	*ret = index;
	return 0;
}

void debug_index_free(struct debug_index *index)
{
	if (!index)
		return;
	data_symbols_free(index->symbols);
	symbol_table_free(index->functions);
	debug_globals_free(index->globals);
	debug_units_free(index->units);
	free(index);
}

/* ---- on first use ---- */

static struct debug_file *get_file(struct debug_index *index)
{
	if (!index->opened)
		debug_file_open(index->module, index->files, &index->file);
	index->opened = true;
	return &index->file;
}

/* NULL: no debug information, or no memory. */
static struct debug_globals *get_globals(struct debug_index *index)
{
	const struct debug_file *file = get_file(index);

	if (!index->globals && file->dwarf && debug_globals_new(file, &index->globals) < 0)
		return NULL;
	return index->globals;
}

static int get_units(struct debug_index *index, struct debug_units **ret)
{
	const struct debug_file *file = get_file(index);
	int r = file->dwarf ? 0 : -ENOENT;

	if (r == 0 && !index->units)
		r = debug_units_new(file->dwarf, &index->units);
	*ret = index->units;
	return r;
}

uint64_t debug_index_bias(struct debug_index *index)
{
	return 0 - get_file(index)->dwarf_bias;
}

uint64_t debug_index_tls_end(struct debug_index *index)
{
	return get_file(index)->tls_end;
}

/* ---- variables ---- */

/* *ret_address: where it begins, in the terms of address. */
static const struct data_symbol *find_symbol(struct debug_index *index, uint64_t address,
					     bool thread_local, uint64_t *ret_address)
{
	const struct debug_file *file = get_file(index);
	uint64_t bias = thread_local ? 0 : file->symbol_bias;
	const struct data_symbol *symbol;

	if (!index->has_symbols && file->file &&
	    data_symbols_new(dwarf_file_module(file->file), &index->symbols) < 0)
		index->symbols = NULL;
	index->has_symbols = true;
	symbol = index->symbols ? data_symbols_find(index->symbols, address + bias, thread_local)
				: NULL;
	*ret_address = symbol ? symbol->address - bias : 0;
	return symbol;
}

static uint64_t size_of_variable(Dwarf_Die die)
{
	Dwarf_Die type;

	return type_of_entry(&die, &type) ? type_size(&type) : 0;
}

/* The variable that holds address, and its bytes. */
static const struct debug_global *find_global(struct debug_index *index, uint64_t address,
					      bool thread_local, uint64_t *ret_bytes)
{
	struct debug_globals *globals = get_globals(index);
	const struct debug_global *global = NULL;
	const struct data_symbol *symbol;
	uint64_t begin;

	if (globals)
		global = debug_globals_find(globals, address, thread_local);
	if (!global)
		return NULL;
	*ret_bytes = size_of_variable(global->die);
	if (*ret_bytes == 0) {
		symbol = find_symbol(index, address, thread_local, &begin);
		if (symbol && begin == global->address)
			*ret_bytes = symbol->bytes;
	}
	return address - global->address < *ret_bytes ? global : NULL;
}

/* First among those outside of functions, then with the static ones in functions. */
static const struct debug_global *find_any_global(struct debug_index *index, uint64_t address,
						  bool thread_local, uint64_t *ret_bytes)
{
	const struct debug_global *found = find_global(index, address, thread_local, ret_bytes);

	if (found || !index->globals)
		return found;
	debug_globals_add_functions(index->globals);
	return find_global(index, address, thread_local, ret_bytes);
}

bool debug_index_variable(struct debug_index *index, uint64_t address, bool thread_local,
			  struct debug_variable *ret)
{
	uint64_t bytes, begin;
	const struct debug_global *global = find_any_global(index, address, thread_local, &bytes);
	const struct data_symbol *symbol;

	if (global) {
		*ret = (struct debug_variable){ .address = global->address, .bytes = bytes,
						.die = global->die };
		debug_name_variable(&ret->die, global->nested,
				    debug_globals_has_functions(index->globals), ret->name);
		return true;
	}
	symbol = find_symbol(index, address, thread_local, &begin);
	if (!symbol)
		return false;
	*ret = (struct debug_variable){ .address = begin, .bytes = symbol->bytes };
	debug_name_symbol(symbol->name, ret->name);
	return true;
}

bool debug_index_global(struct debug_index *index, uint64_t address, bool thread_local,
			Dwarf_Die *ret, uint64_t *ret_offset)
{
	uint64_t bytes;
	const struct debug_global *global = find_global(index, address, thread_local, &bytes);

	if (!global)
		return false;
	*ret = global->die;
	*ret_offset = address - global->address;
	return true;
}

const char *debug_index_symbol(struct debug_index *index, uint64_t address, uint64_t *ret_offset)
{
	uint64_t begin;
	const struct data_symbol *symbol = find_symbol(index, address, false, &begin);

	if (!symbol)
		return NULL;
	*ret_offset = address - begin;
	return symbol->name;
}

/* ---- types and functions ---- */

bool debug_index_type(struct debug_index *index, uint64_t name_hash, Dwarf_Die *ret)
{
	struct debug_globals *globals = get_globals(index);

	return globals && debug_globals_type(globals, name_hash, ret);
}

int debug_index_function(struct debug_index *index, uint64_t address, struct debug_function *ret)
{
	struct debug_units *units;
	int r = get_units(index, &units);

	if (r == 0)
		r = debug_units_function(units, address + debug_index_bias(index), ret);
	if (r < 0)
		return r;
	ret->low -= debug_index_bias(index);
	ret->high -= debug_index_bias(index);
	return 0;
}

bool debug_index_function_name(struct debug_index *index, uint64_t address, Dwarf_Die *die,
			       char text[DEBUG_NAME_BYTES])
{
	const struct debug_file *file = get_file(index);
	const struct symbol *symbol;

	if (die) {
		debug_name_function(die, text);
		return true;
	}
	if (!file->file || (!index->functions &&
			    symbol_table_new(dwarf_file_module(file->file),
					     &index->functions) < 0))
		return false;
	symbol = symbol_table_find(index->functions, address + file->symbol_bias);
	if (symbol)
		debug_name_function_symbol(symbol->name, text);
	return symbol != NULL;
}

void debug_index_stub(struct debug_index *index, uint64_t address, char name[PLT_NAME_BYTES])
{
	debug_stubs_name(&index->stubs, index->module, address, name);
}
