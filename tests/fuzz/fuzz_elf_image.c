/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf_image.c - any bytes as an ELF image in memory.
 *
 * The first eight bytes give the address it lies at, the rest is the image. What
 * is not in the input can't be read. Every reported address must lie in the
 * image's own extent, and a walk must end.
 */
#include <errno.h>
#include <string.h>

#include "src/elf/elf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	uint64_t base;
	const uint8_t *bytes;
	size_t size;
};

static int memory_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct memory *memory = context;

	if (address < memory->base || address - memory->base > memory->size ||
	    bytes > memory->size - (address - memory->base))
		return -EIO;
	if (bytes > 0)
		memcpy(buffer, memory->bytes + (address - memory->base), bytes);
	return 0;
}

static void check_inside(const struct elf_image *image, uint64_t address)
{
	if (address != 0 && (address < image->low || address >= image->high))
		abort();
}

static int check_symbol(void *context, const struct elf_symbol *symbol)
{
	size_t *calls = context;

	if (strlen(symbol->name) > ELF_MAX_STRTAB || ++*calls > ELF_MAX_SYMBOLS)
		abort();
	return 0;
}

static void check_image(const struct elf_image *image)
{
	static const char *const names[] = { "malloc", "free", "a", "__vdso_time", "" };
	size_t calls = 0;

	check_inside(image, image->symtab);
	check_inside(image, image->strtab);
	check_inside(image, image->gnu_hash);
	check_inside(image, image->sysv_hash);
	check_inside(image, image->versym);
	if (image->strtab && image->strtab_bytes > image->high - image->strtab)
		abort();
	if (image->build_id_bytes > ELF_MAX_BUILD_ID)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct elf_symbol symbol;

		if (elf_image_lookup(image, names[i], &symbol) == 0)
			check_inside(image, symbol.address);
	}
	elf_image_each(image, check_symbol, &calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = { .size = size - 8, .bytes = data + 8 };
	const struct elf_reader reader = { memory_read, &memory };
	struct elf_image image;

	if (size < 8)
		return 0;
	memcpy(&memory.base, data, 8);
	if (elf_image_open(&reader, memory.base, &image) < 0)
		return 0;
	check_image(&image);
	/* The same once more by the other table. */
	image.gnu_hash = 0;
	check_image(&image);
	return 0;
}
