/* SPDX-License-Identifier: MIT */
/*
 * data_symbols.c - the variables among one ELF file's symbols, by address.
 *
 * Two sorted arrays, of variables and of thread-local ones. Symbols without a size name
 * only the byte they stand at. Of several at one place the largest counts,
 * then the one with fewer underscores (environ, not __environ).
 */
#include "src/debuginfo/data_symbols.h"

#include <errno.h>
#include <string.h>

#include "src/base/array.h"

#define MAX_SYMBOLS	(4u << 20)
#define MAX_OUTER	8u	/* how many starts to look back for one that holds the address */

struct list {
	struct data_symbol *symbol;
	size_t count, room;
};
struct data_symbols {
	struct list list[2];	/* [thread_local] */
};

static int data_symbols_add(struct list *list, const struct data_symbol *symbol)
{
	size_t room = list->room ? list->room * 2 : 256;
	struct data_symbol *grown;

	if (list->count == list->room) {
		grown = reallocarray(list->symbol, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->symbol = grown;
		list->room = room;
	}
	list->symbol[list->count++] = *symbol;
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct data_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return -strcmp(a->name, b->name) * (a->name[0] == '_' || b->name[0] == '_' ? -1 : 1);
}

static int read_symbol(Dwfl_Module *module, int i, struct data_symbols *symbols)
{
	GElf_Addr address;
	GElf_Word section;
	GElf_Sym symbol;
	const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL,
						   NULL);
	unsigned int type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;

	if (!name || name[0] == '\0' || symbol.st_shndx == SHN_UNDEF ||
	    (type != STT_OBJECT && type != STT_TLS && type != STT_COMMON))
		return 0;
	return data_symbols_add(&symbols->list[type == STT_TLS],
				&(struct data_symbol){
					.address = type == STT_TLS ? symbol.st_value : address,
					.bytes = symbol.st_size,
					.name = name,
				});
}

int data_symbols_new(Dwfl_Module *module, struct data_symbols **ret)
{
	struct data_symbols *symbols = calloc(1, sizeof(*symbols));
	int count = dwfl_module_getsymtab(module), r = symbols ? 0 : -ENOMEM;

	for (int i = 1; r == 0 && i < count && (unsigned int)i < MAX_SYMBOLS; i++)
		r = read_symbol(module, i, symbols);
	if (r < 0) {
		data_symbols_free(symbols);
		return r;
	}
	for (int i = 0; i < 2; i++)
		if (symbols->list[i].count)
			qsort(symbols->list[i].symbol, symbols->list[i].count,
			      sizeof(struct data_symbol), by_address);
	*ret = symbols;
	return 0;
}

void data_symbols_free(struct data_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->list[0].symbol);
	free(symbols->list[1].symbol);
	free(symbols);
}

const struct data_symbol *data_symbols_find(const struct data_symbols *symbols, uint64_t address,
					    bool thread_local)
{
	const struct list *list = &symbols->list[thread_local];
	size_t low = ARRAY_BISECT(list->count, i, list->symbol[i].address <= address);

	for (size_t looked = 0; low > 0 && looked < MAX_OUTER; looked++) {
		const struct data_symbol *symbol = &list->symbol[--low];

		if (address - symbol->address < (symbol->bytes ? symbol->bytes : 1))
			return symbol;
	}
	return NULL;
}
