/* SPDX-License-Identifier: MIT */
/*
 * symbol_table.c - the functions of one ELF file, sorted by address.
 *
 * dwfl_module_addrinfo() walks all symbols for each address (35 us in a large
 * program); reading them once and sorting makes a lookup a binary search.
 * Among symbols at one address the name that people use is kept: a sized one,
 * global before weak before local, fewer leading underscores (malloc, not
 * __libc_malloc), then the shorter. Symbols without a size (assembly) reach to the
 * next one, and never beyond their section.
 * A linker puts the local symbols of an object file behind the name of its source. Behind the last
 * one's it puts an empty name, then what a version script or -fvisibility made local.
 */
#include "src/debuginfo/symbol_table.h"

#include <errno.h>
#include <string.h>

#define MAX_SYMBOLS	(8u << 20)
#define MAX_OUTER	16u	/* how many starts to look back for one that holds the address */

struct symbol_table {
	struct symbol *symbol;
	size_t count, capacity;
};

static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	uint32_t binding, underscores = 0;
	size_t length = strnlen(name, 0xffff);

	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		binding = 0;
		break;
	case STB_WEAK:
		binding = 1;
		break;
	default:
		binding = 2;
	}
	while (underscores < 7 && name[underscores] == '_')
		underscores++;
	/* _Z and _R are mangled, not private. */
	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return (uint32_t)(symbol->st_size == 0) << 31 | binding << 24 | underscores << 20 |
	       (uint32_t)length;
}

static bool is_code(const GElf_Sym *symbol, const char *name)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	if (!name || name[0] == '\0' || symbol->st_shndx == SHN_UNDEF)
		return false;
	/* NOTYPE: labels of assembly. Compilers' local labels are no names. */
	if (type == STT_NOTYPE)
		return name[0] != '.' && name[0] != '$';
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* How far an unsized symbol may reach at the most. */
static uint64_t section_rest(Elf *elf, GElf_Word index, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || symbol->st_value < header.sh_addr ||
	    symbol->st_value - header.sh_addr >= header.sh_size)
		return 0;
	return header.sh_size - (symbol->st_value - header.sh_addr);
}

/* The source of the local symbols that follow. */
struct source {
	const Elf *elf;		/* whose they are */
	const char *file;	/* NULL: unknown */
};

static void note_source(struct source *source, const Elf *elf, const GElf_Sym *symbol,
			const char *name)
{
	if (elf != source->elf)
		*source = (struct source){ .elf = elf };
	/* "<artificial>": of link-time optimisation */
	if (GELF_ST_TYPE(symbol->st_info) == STT_FILE)
		source->file = name[0] && name[0] != '<' ? name : NULL;
}

/* gold puts no empty name before what was made local; the hidden of it can be told. */
static bool is_static(const GElf_Sym *symbol)
{
	return GELF_ST_BIND(symbol->st_info) == STB_LOCAL &&
	       GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
}

static int symbol_table_add(struct symbol_table *table, const struct symbol *symbol)
{
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 1024;
		struct symbol *grown = reallocarray(table->symbol, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->symbol = grown;
		table->capacity = capacity;
	}
	table->symbol[table->count++] = *symbol;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Sorts, and keeps the best of those that share an address. */
static void sort(struct symbol_table *table)
{
	size_t kept = 0;

	if (table->count == 0)
		return;
	qsort(table->symbol, table->count, sizeof(*table->symbol), compare);
	for (size_t i = 1; i < table->count; i++) {
		if (table->symbol[i].address != table->symbol[kept].address)
			table->symbol[++kept] = table->symbol[i];
	}
	table->count = kept + 1;
}

static int read_symbols(Dwfl_Module *module, struct symbol_table *table)
{
	struct source source = { .elf = NULL };
	int count = dwfl_module_getsymtab(module);

	for (int i = 1; i < count && (uint32_t)i < MAX_SYMBOLS; i++) {
		GElf_Addr address;
		GElf_Word section;
		GElf_Sym symbol;
		Elf *elf = NULL;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section,
							   &elf, NULL);
		int r;

		if (name)
			note_source(&source, elf, &symbol, name);
		if (!name || !is_code(&symbol, name))
			continue;
		r = symbol_table_add(
			table,
			&(struct symbol){
				.address = address,
				.size = symbol.st_size,
				.name = name,
				.rank = rank_of(&symbol, name),
				.file = is_static(&symbol) ? source.file : NULL,
				.reach = symbol.st_size ? 0 : section_rest(elf, section, &symbol),
			});
		if (r < 0)
			return r;
	}
	sort(table);
	return 0;
}

int symbol_table_new(Dwfl_Module *module, struct symbol_table **ret)
{
	struct symbol_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	r = read_symbols(module, table);
	if (r < 0) {
		symbol_table_free(table);
		return r;
	}
	*ret = table;
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	free(table->symbol);
	free(table);
}

static bool holds(const struct symbol_table *table, size_t index, uint64_t address)
{
	const struct symbol *symbol = &table->symbol[index];

	if (symbol->size > 0)
		return address - symbol->address < symbol->size;
	return address - symbol->address < symbol->reach &&
	       (index + 1 == table->count || address < table->symbol[index + 1].address);
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t looked = 0; low > 0 && looked < MAX_OUTER; looked++) {
		if (holds(table, --low, address))
			return &table->symbol[low];
	}
	return NULL;
}

size_t symbol_table_count(const struct symbol_table *table)
{
	return table->count;
}
