/* SPDX-License-Identifier: MIT */
/*
 * frame_names.c - libc functions that hold locks which dlopen or malloc need
 * while they call back or wait. Looked up in the module's dynamic symbols, which
 * also a stripped libc has.
 */
#include "src/symbolize/frame_names.h"

#include <errno.h>
#include <string.h>

#include "src/elf/elf_image.h"

static const struct {
	const char *name, *why;
} forbidden[] = {
	{ "fork", "a frame is in fork" },
	{ "vfork", "a frame is in vfork" },
	{ "_Fork", "a frame is in fork" },
	{ "posix_spawn", "a frame is in posix_spawn" },
	{ "posix_spawnp", "a frame is in posix_spawn" },
	{ "dl_iterate_phdr", "a frame is in dl_iterate_phdr" },
	{ "dlopen", "a frame is in dlopen" },
	{ "dlmopen", "a frame is in dlopen" },
	{ "dlclose", "a frame is in dlclose" },
	{ "dlsym", "a frame is in dlsym" },
	{ "dlvsym", "a frame is in dlsym" },
	{ "dladdr", "a frame is in dladdr" },
	{ "exit", "the process is exiting" },
	{ "quick_exit", "the process is exiting" },
	{ "abort", "the process is aborting" },
	{ "__cxa_finalize", "a destructor is running" },
	{ "malloc_info", "a frame is in an allocator" },
	{ "malloc_stats", "a frame is in an allocator" },
	{ "mallinfo", "a frame is in an allocator" },
	{ "mallinfo2", "a frame is in an allocator" },
	{ "malloc_trim", "a frame is in an allocator" },
	{ "system", "a frame is in system" },
	{ "popen", "a frame is in popen" },
};

static int read_file(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const uint8_t *from = module_bytes(context, address, bytes, NULL);

	if (!from)
		return -EFAULT;
	memcpy(buffer, from, bytes);
	return 0;
}

struct lookup {
	uint64_t offset;
	const char *why;
};

static int match(void *context, const struct elf_symbol *symbol)
{
	struct lookup *lookup = context;

	if (symbol->type != STT_FUNC || lookup->offset < symbol->address ||
	    lookup->offset >= symbol->address + symbol->size)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
		if (strcmp(symbol->name, forbidden[i].name) == 0) {
			lookup->why = forbidden[i].why;
			return 1;
		}
	return 0;
}

static bool open_image(const struct module *module, struct elf_reader *reader,
		       struct elf_image *ret)
{
	uint64_t first = module->segment_count ? module->segment[0].address : 0;

	*reader = (struct elf_reader){ read_file, (void *)(uintptr_t)module };
	return module->kind == MODULE_FILE && elf_image_open(reader, first, ret) == 0;
}

const char *frame_names_forbidden(const struct module *module, uint64_t offset)
{
	struct lookup lookup = { .offset = offset, .why = NULL };
	struct elf_reader reader;
	struct elf_image image;

	if (open_image(module, &reader, &image))
		(void)elf_image_each(&image, match, &lookup);
	return lookup.why;
}

size_t frame_names_locked_writers(const struct module *module, struct frame_names_range *ret,
				  size_t room)
{
	static const char *const names[] = { "malloc_stats", "malloc_info" };
	struct elf_symbol symbol;
	struct elf_reader reader;
	struct elf_image image;
	size_t count = 0;

	if (!open_image(module, &reader, &image))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names) && count < room; i++)
		if (elf_image_lookup(&image, names[i], &symbol) == 0)
			ret[count++] = (struct frame_names_range){ symbol.address,
								   symbol.address + symbol.size };
	return count;
}
