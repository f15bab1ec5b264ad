/* SPDX-License-Identifier: MIT */
/*
 * symtab.c - reads .symtab of an ELF file and checks that it is the mapped one.
 *
 * The file comes from someone else's process and may have been replaced since it
 * was mapped: its ELF header, program headers and notes (build id) are compared
 * with the target's memory before a symbol is believed. Every offset is checked
 * against the file's size. Compressed sections and SHN_XINDEX are not looked at.
 * libelf was rejected here: it allocates along the file's own claims, and all
 * that is needed is two sections.
 */
#include "src/plan/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOTE_BYTES	4096u
#define MAX_SECTIONS	65536u

struct file_section {
	uint64_t offset, size;
};

/* count items of bytes each from offset on, or NULL when they do not fit. */
static const void *file_part(const struct planner_file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->size || bytes > file->size - offset)
		return NULL;
	return file->bytes + offset;
}

/* True if bytes of the file at offset equal the target's memory at address. */
static bool same_as_memory(const struct planner_file *file, uint64_t offset,
			   const struct elf_image *image, uint64_t address, size_t bytes)
{
	const void *part = file_part(file, offset, bytes);
	_cleanup_free_ void *copy = NULL;

	if (!part)
		return false;
	copy = malloc(bytes ? bytes : 1);
	return copy && image->reader.read(image->reader.context, address, copy, bytes) == 0 &&
	       memcmp(part, copy, bytes) == 0;
}

static bool is_the_mapped_file(const struct planner_file *file, const struct elf_image *image,
			       const Elf64_Ehdr *header)
{
	if (header->e_phnum != image->phdr_count || header->e_phoff > file->size ||
	    !same_as_memory(file, 0, image, image->base, sizeof(*header)) ||
	    !same_as_memory(file, header->e_phoff, image, image->base + header->e_phoff,
			    header->e_phnum * sizeof(Elf64_Phdr)))
		return false;
	for (unsigned int i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *p = &image->phdr[i];

		if (p->p_type == PT_NOTE && p->p_filesz <= MAX_NOTE_BYTES &&
		    !same_as_memory(file, p->p_offset, image, image->bias + p->p_vaddr,
				    p->p_filesz))
			return false;
	}
	return true;
}

static int read_section(const struct planner_file *file, const Elf64_Ehdr *header, uint64_t index,
			Elf64_Shdr *ret)
{
	const void *part;

	if (header->e_shentsize != sizeof(*ret) || index >= MAX_SECTIONS ||
	    header->e_shoff > file->size)
		return -EBADMSG;
	part = file_part(file, header->e_shoff + index * sizeof(*ret), sizeof(*ret));
	if (!part)
		return -EBADMSG;
	memcpy(ret, part, sizeof(*ret));
	return 0;
}

/* Section header 0 holds the count when it does not fit into the ELF header. */
static int section_count(const struct planner_file *file, const Elf64_Ehdr *header, uint64_t *ret)
{
	Elf64_Shdr first;
	int r;

	if (header->e_shoff == 0)
		return -ENOENT;
	*ret = header->e_shnum;
	if (header->e_shnum != 0)
		return 0;
	r = read_section(file, header, 0, &first);
	if (r == 0)
		*ret = first.sh_size < MAX_SECTIONS ? first.sh_size : MAX_SECTIONS;
	return r;
}

static int find_symtab(const struct planner_file *file, const Elf64_Ehdr *header,
		       struct file_section *ret_symbols, struct file_section *ret_names)
{
	Elf64_Shdr section, names;
	uint64_t count;
	int r = section_count(file, header, &count);

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = read_section(file, header, i, &section);
		if (r < 0 || section.sh_type != SHT_SYMTAB)
			continue;
		r = read_section(file, header, section.sh_link, &names);
		if (r < 0)
			return r;
		if (section.sh_entsize != sizeof(Elf64_Sym) ||
		    !file_part(file, section.sh_offset, section.sh_size) ||
		    !file_part(file, names.sh_offset, names.sh_size) || names.sh_size == 0)
			return -EBADMSG;
		*ret_symbols = (struct file_section){ section.sh_offset, section.sh_size };
		*ret_names = (struct file_section){ names.sh_offset, names.sh_size };
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

/* The name at index of the string section, or "" if it is broken or longer than fits. */
static const char *symbol_name(const struct planner_file *file, const struct file_section *names,
			       uint32_t index)
{
	const char *name = (const char *)file->bytes + names->offset + index;
	size_t room;

	if (index >= names->size)
		return "";
	room = names->size - index < SYMTAB_NAME_BYTES ? names->size - index : SYMTAB_NAME_BYTES;
	return memchr(name, '\0', room) ? name : "";
}

static int keep_symbol(struct symtab *table, const char *name, const Elf64_Sym *symbol,
		       uint64_t bias)
{
	struct symtab_symbol *bigger;

	if (table->count >= SYMTAB_MAX_WANTED)
		return 0;
	if (table->count % 64 == 0) {
		bigger = realloc(table->symbol, (table->count + 64) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		table->symbol = bigger;
	}
	bigger = &table->symbol[table->count++];
	memset(bigger, 0, sizeof(*bigger));
	strncpy(bigger->name, name, sizeof(bigger->name) - 1);
	bigger->address = symbol->st_value + bias;
	bigger->size = symbol->st_size;
	bigger->type = ELF64_ST_TYPE(symbol->st_info);
	bigger->binding = ELF64_ST_BIND(symbol->st_info);
	return 0;
}

static bool is_defined(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT);
}

static void keep_function(struct symtab *table, const Elf64_Sym *symbol,
			  const struct elf_image *image)
{
	uint64_t low = symbol->st_value + image->bias;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 ||
	    low < image->low || low >= image->high || symbol->st_size > image->high - low)
		return;
	table->function[table->function_count++] =
		(struct entry_span){ low, low + symbol->st_size };
}

static int read_symbols(const struct planner_file *file, const struct elf_image *image,
			bool (*wanted)(const void *context, const char *name),
			const void *context, struct symtab *table)
{
	struct file_section symbols = { 0, 0 }, names = { 0, 0 };
	Elf64_Ehdr header;
	size_t count;
	int r;

	memcpy(&header, file->bytes, sizeof(header));
	r = find_symtab(file, &header, &symbols, &names);
	if (r < 0)
		return r;
	count = symbols.size / sizeof(Elf64_Sym);
	if (count > SYMTAB_MAX_SYMBOLS)
		return -E2BIG;
	table->function = calloc(count + 1, sizeof(*table->function));
	if (!table->function)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		const char *name;
		Elf64_Sym symbol;

		memcpy(&symbol, file->bytes + symbols.offset + i * sizeof(symbol), sizeof(symbol));
		if (!is_defined(&symbol))
			continue;
		keep_function(table, &symbol, image);
		name = symbol_name(file, &names, symbol.st_name);
		if (wanted(context, name))
			r = keep_symbol(table, name, &symbol, image->bias);
	}
	return r;
}

static int compare_spans(const void *a, const void *b)
{
	const struct entry_span *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->high > y->high) - (x->high < y->high);
}

static void merge_functions(struct symtab *table)
{
	size_t kept = 0;

	qsort(table->function, table->function_count, sizeof(*table->function), compare_spans);
	for (size_t i = 0; i < table->function_count; i++) {
		struct entry_span *last = kept ? &table->function[kept - 1] : NULL;

		if (!last || table->function[i].low >= last->high)
			table->function[kept++] = table->function[i];
		else if (table->function[i].high > last->high)
			last->high = table->function[i].high;
	}
	table->function_count = kept;
}

int symtab_read(const struct planner_file *file, const struct elf_image *image,
		bool (*wanted)(const void *context, const char *name), const void *context,
		struct symtab *ret)
{
	struct symtab table = { 0 };
	Elf64_Ehdr header;
	int r;

	if (file->size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, file->bytes, sizeof(header));
	if (!is_the_mapped_file(file, image, &header))
		return -ESTALE;
	r = read_symbols(file, image, wanted, context, &table);
	if (r < 0) {
		symtab_done(&table);
		return r;
	}
	merge_functions(&table);
	*ret = table;
	return 0;
}

void symtab_done(struct symtab *table)
{
	free(table->symbol);
	free(table->function);
	*table = (struct symtab){ 0 };
}

int symtab_lookup(const struct symtab *table, const char *name, struct elf_symbol *ret)
{
	const struct symtab_symbol *best = NULL;

	for (size_t i = 0; i < table->count; i++) {
		const struct symtab_symbol *s = &table->symbol[i];

		if (strcmp(s->name, name) == 0 && (!best || best->binding == STB_LOCAL))
			best = s;
	}
	if (!best)
		return -ENOENT;
	*ret = (struct elf_symbol){ .address = best->address, .size = best->size,
				    .type = best->type, .binding = best->binding,
				    .name = name };
	return 0;
}
