/* SPDX-License-Identifier: MIT */
/*
 * plt.c - follows `jmp f@plt` to the function it reaches.
 *
 * The GOT slot tells, unless it is bound lazily and was not called yet; then the
 * relocation of the slot names the symbol (DT_JMPREL, RELA form, as x86-64 has
 * it). What the symbol is bound to is for the caller to say: ld.so has not
 * decided yet either.
 */
#include "src/plan/plt.h"

#include <errno.h>
#include <string.h>

#include "src/plan/entry_decode.h"

#define STUB_BYTES		16u
#define MAX_DYNAMIC		512u
#define MAX_RELOCATIONS		65536u
#define CHUNK			64u

struct relocations {
	uint64_t address, count;
};

static int read_inside(const struct elf_image *image, uint64_t address, void *buffer, size_t bytes)
{
	if (address < image->low || address > image->high || bytes > image->high - address)
		return -EBADMSG;
	return image->reader.read(image->reader.context, address, buffer, bytes);
}

/* DT_JMPREL: glibc relocates the value in place, musl does not. */
static int find_relocations(const struct elf_image *image, struct relocations *ret)
{
	uint64_t table = 0, bytes = 0;

	for (uint64_t i = 0; image->dynamic && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn entry;
		int r = read_inside(image, image->dynamic + i * sizeof(entry), &entry,
				    sizeof(entry));

		if (r < 0)
			return r;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_JMPREL)
			table = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_PLTRELSZ)
			bytes = entry.d_un.d_val;
	}
	if (!table || bytes / sizeof(Elf64_Rela) > MAX_RELOCATIONS)
		return -ENOENT;
	if (table < image->low || table >= image->high)
		table += image->bias;
	*ret = (struct relocations){ table, bytes / sizeof(Elf64_Rela) };
	return 0;
}

static int read_symbol_name(const struct elf_image *image, uint64_t index,
			    char ret_name[PLT_NAME_BYTES])
{
	char name[PLT_NAME_BYTES];
	Elf64_Sym symbol;
	int r;

	if (index >= (image->high - image->low) / sizeof(symbol))
		return -EBADMSG;
	r = read_inside(image, image->symtab + index * sizeof(symbol), &symbol, sizeof(symbol));
	if (r == 0)
		r = read_inside(image, image->strtab + symbol.st_name, name, sizeof(name));
	if (r < 0)
		return r;
	if (!memchr(name, '\0', sizeof(name)))
		return -ENOENT;
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

static int name_of_slot(const struct elf_image *image, uint64_t slot, char ret_name[PLT_NAME_BYTES])
{
	struct relocations all;
	int r = find_relocations(image, &all);

	for (uint64_t i = 0; r == 0 && i < all.count; i += CHUNK) {
		Elf64_Rela rela[CHUNK];
		size_t n = all.count - i < CHUNK ? all.count - i : CHUNK;

		r = read_inside(image, all.address + i * sizeof(*rela), rela, n * sizeof(*rela));
		for (size_t k = 0; r == 0 && k < n; k++) {
			if (rela[k].r_offset + image->bias == slot)
				return read_symbol_name(image, ELF64_R_SYM(rela[k].r_info),
							ret_name);
		}
	}
	return r < 0 ? r : -ENOENT;
}

int plt_resolve(const struct elf_image *image, uint64_t address, uint64_t *ret_target,
		char ret_name[PLT_NAME_BYTES])
{
	uint8_t bytes[STUB_BYTES];
	struct entry_code code = { address, address + sizeof(bytes), bytes };
	uint64_t slot, target = 0;
	int r = read_inside(image, address, bytes, sizeof(bytes));

	if (r < 0)
		return r;
	if (!entry_plt_slot(&code, &slot))
		return -ENOENT;
	r = read_inside(image, slot, &target, sizeof(target));
	if (r < 0)
		return r;
	ret_name[0] = '\0';
	if (name_of_slot(image, slot, ret_name) < 0)
		ret_name[0] = '\0';
	*ret_target = target;
	return 0;
}
