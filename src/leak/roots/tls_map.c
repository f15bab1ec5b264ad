/* SPDX-License-Identifier: MIT */
/*
 * tls_map.c - where each thread keeps the thread-local variables of each module.
 *
 * A module's block is found in one of three ways: the program's own ends at the
 * thread pointer (x86-64 ABI, variant II); a relocation R_X86_64_TPOFF64 or a static
 * TLS descriptor holds the distance to the thread pointer; R_X86_64_DTPMOD64 holds the
 * module's number, under which the thread's dtv (second word of its control block) has
 * the block. A dtv entry is two words in glibc, address and what to free; in musl one.
 * Everything is checked against nothing but sense: distances below 64 MiB, numbers below
 * 4096. A forged one gives a wrong name to a word of a stack or heap, nothing more.
 * Rejected: link_map.l_tls_modid, whose place differs by the version of glibc.
 */
#include "src/leak/roots/tls_map.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "src/base/array.h"
#include "src/leak/roots/thread_data.h"

#define MAX_DISTANCE	(64u << 20)
#define MAX_NUMBER	4096u
#define MAX_RELOCATIONS	(1u << 22)
#define MAX_BLOCKS	(1u << 20)
#define DTV_ENTRY	16u
#define MUSL_DTV_ENTRY	8u

struct tls_map {
	struct tls_block *block;	/* ascending */
	size_t count, room;
};

/* What is to know of a module that has thread-local variables. */
struct image {
	const struct module *module;
	uint64_t bytes;
	uint64_t distance;	/* of its block below the thread pointer, 0: not known */
	uint64_t number;	/* in the dtv, 0: not known */
	bool is_program;
	uint64_t rela, rela_bytes, jmprel, jmprel_bytes, symtab;	/* addresses in the file */
};

static const Elf64_Phdr *find_header(const struct module *module, uint32_t type)
{
	const Elf64_Ehdr *header = (const void *)module_file(module, 0, sizeof(*header));
	const Elf64_Phdr *phdr;

	if (!header || header->e_phentsize != sizeof(*phdr) || header->e_phoff % 8)
		return NULL;
	phdr = (const void *)module_file(module, header->e_phoff,
					 header->e_phnum * sizeof(*phdr));
	if (!phdr)
		return NULL;
	for (unsigned int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == type)
			return &phdr[i];
	return NULL;
}

static void take_dynamic(struct image *image, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_RELA:
		image->rela = entry->d_un.d_ptr;
		break;
	case DT_RELASZ:
		image->rela_bytes = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		image->jmprel = entry->d_un.d_ptr;
		break;
	case DT_PLTRELSZ:
		image->jmprel_bytes = entry->d_un.d_val;
		break;
	case DT_SYMTAB:
		image->symtab = entry->d_un.d_ptr;
		break;
	case DT_DEBUG:		/* only programs have it */
		image->is_program = true;
		break;
	}
}

static void read_dynamic(struct image *image)
{
	const Elf64_Phdr *dynamic = find_header(image->module, PT_DYNAMIC);
	Elf64_Dyn entry;

	if (!dynamic) {		/* a static program */
		image->is_program = true;
		return;
	}
	for (uint64_t at = 0; at + sizeof(entry) <= dynamic->p_filesz && at < 65536;
	     at += sizeof(entry)) {
		const uint8_t *bytes = module_bytes(image->module, dynamic->p_vaddr + at,
						    sizeof(entry), NULL);

		if (!bytes)
			return;
		memcpy(&entry, bytes, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			return;
		take_dynamic(image, &entry);
	}
}

/* The symbol's offset in this module's own block; false: it is another module's. */
static bool own_offset(const struct image *image, uint64_t number, uint64_t *ret)
{
	const uint8_t *bytes;
	Elf64_Sym symbol;

	*ret = 0;
	if (number == 0)
		return true;
	bytes = module_bytes(image->module, image->symtab + number * sizeof(symbol),
			     sizeof(symbol), NULL);
	if (!bytes)
		return false;
	memcpy(&symbol, bytes, sizeof(symbol));
	*ret = symbol.st_value;
	return symbol.st_shndx != SHN_UNDEF;
}

/* Learns what the loader wrote where this relocation said. */
static void take_relocation(const struct picture *picture, struct image *image,
			    const Elf64_Rela *rela)
{
	uint64_t where = image->module->bias + rela->r_offset, offset, distance, value;
	uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);

	if (type != R_X86_64_DTPMOD64 && type != R_X86_64_TPOFF64 && type != R_X86_64_TLSDESC)
		return;
	if (!own_offset(image, ELF64_R_SYM(rela->r_info), &offset))
		return;
	value = picture_word(picture, type == R_X86_64_TLSDESC ? where + 8 : where);
	if (type == R_X86_64_DTPMOD64) {
		if (value < MAX_NUMBER)
			image->number = value;
		return;
	}
	distance = offset + (uint64_t)rela->r_addend - value;
	if (distance - 1 < MAX_DISTANCE)
		image->distance = distance;
}

static void read_relocations(const struct picture *picture, struct image *image, uint64_t address,
			     uint64_t bytes)
{
	uint64_t count = bytes / sizeof(Elf64_Rela);
	const uint8_t *table;
	Elf64_Rela rela;

	if (count > MAX_RELOCATIONS)
		return;
	table = module_bytes(image->module, address, count * sizeof(rela), NULL);
	for (uint64_t i = 0; table && i < count && !(image->number && image->distance); i++) {
		memcpy(&rela, table + i * sizeof(rela), sizeof(rela));
		take_relocation(picture, image, &rela);
	}
}

/* False: the module has no thread-local variables. */
static bool read_image(const struct picture *picture, const struct module *module,
		       struct image *ret)
{
	const Elf64_Phdr *tls = find_header(module, PT_TLS);
	uint64_t align, first;

	if (!tls || tls->p_memsz == 0 || tls->p_memsz > MAX_DISTANCE || module->closed)
		return false;
	*ret = (struct image){ .module = module, .bytes = tls->p_memsz };
	read_dynamic(ret);
	if (ret->is_program) {
		align = tls->p_align && tls->p_align < MAX_DISTANCE ? tls->p_align : 1;
		first = (0 - tls->p_vaddr) % align;
		ret->distance = (tls->p_memsz - first + align - 1) / align * align + first;
		return true;
	}
	read_relocations(picture, ret, ret->rela, ret->rela_bytes);
	read_relocations(picture, ret, ret->jmprel, ret->jmprel_bytes);
	return ret->distance || ret->number;
}

/* Where thread has the block of image, 0: nowhere yet. */
static uint64_t find_block(const struct picture *picture, uint64_t pointer,
			   const struct image *image)
{
	uint64_t table, entry, block;

	if (image->distance)
		return pointer - image->distance;
	table = picture_word(picture, pointer + 8);
	entry = thread_data_libc(picture, pointer) == THREAD_MUSL ? MUSL_DTV_ENTRY : DTV_ENTRY;
	block = table ? picture_word(picture, table + image->number * entry) : 0;
	return block == UINT64_MAX ? 0 : block;
}

static int tls_map_add(struct tls_map *map, const struct tls_block *block)
{
	size_t room = map->room ? map->room * 2 : 64;
	struct tls_block *grown;

	if (map->count == map->room) {
		grown = reallocarray(map->block, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		map->block = grown;
		map->room = room;
	}
	map->block[map->count++] = *block;
	return 0;
}

static int add_module(struct tls_map *map, const struct picture *picture,
		      const struct module *module)
{
	struct image image;
	int r = 0;

	if (!read_image(picture, module, &image))
		return 0;
	for (size_t i = 0; r == 0 && i < picture->thread_count && map->count < MAX_BLOCKS; i++) {
		const struct picture_thread *thread = &picture->thread[i];
		uint64_t block = find_block(picture, thread->registers.fs_base, &image);

		if (block && thread->registers.fs_base)
			r = tls_map_add(map, &(struct tls_block){ block, block + image.bytes,
								  module, thread->tid });
	}
	return r;
}

static int by_low(const void *left, const void *right)
{
	const struct tls_block *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

int tls_map_new(const struct picture *picture, const struct modules *modules,
		struct tls_map **ret)
{
	struct tls_map *map = calloc(1, sizeof(*map));
	int r = map ? 0 : -ENOMEM;

	for (uint32_t id = 1; r == 0 && id <= modules_count(modules); id++)
		r = add_module(map, picture, modules_get(modules, id));
	if (r < 0) {
		tls_map_free(map);
		return r;
	}
	if (map->count)
		qsort(map->block, map->count, sizeof(*map->block), by_low);
	*ret = map;
	return 0;
}

void tls_map_free(struct tls_map *map)
{
	if (!map)
		return;
	free(map->block);
	free(map);
}

const struct tls_block *tls_map_find(const struct tls_map *map, uint64_t address)
{
	size_t low = ARRAY_BISECT(map->count, i, map->block[i].low <= address);

	return low > 0 && address < map->block[low - 1].high ? &map->block[low - 1] : NULL;
}
