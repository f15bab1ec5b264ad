/* SPDX-License-Identifier: MIT */
/*
 * gadgets.c - finds `syscall; ret`, __restore_rt, dlopen and the stack's end.
 *
 * Instructions are searched as bytes in r-x mappings of files that the link map
 * names, libc first: it has both pairs, and what lies there stays for as long as
 * the program runs. dlopen is libc's or libdl's own, never an interposer's (a
 * sanitizer's takes locks of its own); before glibc 2.34 a program without libdl
 * has __libc_dlopen_mode, which wants a private flag. The vdso holds no such
 * pair; anonymous code (a JIT) may vanish and is not looked at.
 */
#include "src/plan/gadgets.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES		65536u
#define MAX_TEXT_BYTES		(64u << 20)	/* of one module */
#define LIBC_DLOPEN_FLAG	0x80000000u	/* __RTLD_DLOPEN, glibc include/dlfcn.h */

static const uint8_t syscall_ret[] = { 0x0f, 0x05, 0xc3 };
static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

/* Looks for what is still missing in a copy of code. */
static void search_bytes(const uint8_t *code, size_t count, uint64_t address,
			 struct hook_plan *plan)
{
	const uint8_t *at;

	at = plan->gadget_syscall_ret ? NULL :
	     memmem(code, count, syscall_ret, sizeof(syscall_ret));
	if (at)
		plan->gadget_syscall_ret = address + (uint64_t)(at - code);
	at = plan->gadget_restorer ? NULL : memmem(code, count, restorer, sizeof(restorer));
	if (at)
		plan->gadget_restorer = address + (uint64_t)(at - code);
}

static bool is_complete(const struct hook_plan *plan)
{
	return plan->gadget_syscall_ret && plan->gadget_restorer;
}

/* Chunks overlap by one byte less than the longest pattern. */
static int search_mapping(const struct elf_reader *reader, uint64_t low, uint64_t high,
			  struct hook_plan *plan)
{
	_cleanup_free_ uint8_t *code = malloc(CHUNK_BYTES);

	if (!code)
		return -ENOMEM;
	high = high - low < MAX_TEXT_BYTES ? high : low + MAX_TEXT_BYTES;
	while (low < high && !is_complete(plan)) {
		size_t n = high - low < CHUNK_BYTES ? high - low : CHUNK_BYTES;

		if (reader->read(reader->context, low, code, n) < 0)
			return 0;
		search_bytes(code, n, low, plan);
		if (n < CHUNK_BYTES)
			break;
		low += n - (sizeof(restorer) - 1);
	}
	return 0;
}

/* The executable mappings of the file that image was loaded from. */
static int search_image(const struct allocators_input *input, const struct elf_image *image,
			struct hook_plan *plan)
{
	const struct procmap *first = procmaps_find(input->maps, image->base), *map;
	const struct procmap *end = input->maps->map + input->maps->count;
	int r = 0;

	for (map = first; map && map < end && map->start < image->high && r == 0; map++) {
		if ((map->prot & (PROCMAP_X | PROCMAP_W | PROCMAP_R)) != (PROCMAP_X | PROCMAP_R) ||
		    !map->inode || map->inode != first->inode)
			continue;
		r = search_mapping(input->reader, map->start, map->end, plan);
	}
	return r;
}

/* Not an interposer: the module that starts programs, or the old home of dlopen. */
static bool is_libc(const struct elf_image *image)
{
	struct elf_symbol symbol;

	return elf_image_lookup(image, "__libc_start_main", &symbol) == 0;
}

static bool is_libdl(const struct link_map_module *module)
{
	const char *slash = strrchr(module->name, '/');

	return strncmp(slash ? slash + 1 : module->name, "libdl", 5) == 0;
}

/* Address of a function that is not chosen at run time, 0: none. */
static uint64_t function_address(const struct elf_image *image, const char *name)
{
	struct elf_symbol symbol;

	if (elf_image_lookup(image, name, &symbol) < 0 || symbol.type != STT_FUNC)
		return 0;
	return symbol.address;
}

/* Takes the pair if both are there. */
static bool take_dlopen(const struct elf_image *image, const char *open, const char *close,
			uint32_t mode, struct hook_plan *plan)
{
	uint64_t open_address = function_address(image, open);
	uint64_t close_address = function_address(image, close);

	if (!open_address || !close_address)
		return false;
	plan->dlopen = open_address;
	plan->dlclose = close_address;
	plan->dlopen_mode = mode;
	return true;
}

static void take_stack_end(const struct allocators_input *input, const struct elf_symbol *symbol,
			   struct hook_plan *plan)
{
	const struct elf_reader *reader = input->reader;
	const struct procmap *map;
	uint64_t end = 0;

	if (reader->read(reader->context, symbol->address, &end, sizeof(end)) < 0)
		return;
	map = procmaps_find(input->maps, end);
	if (map && strcmp(map->path, "[stack]") == 0)
		plan->main_stack_end = end;
}

static int look_at_module(const struct allocators_input *input,
			  const struct link_map_module *module, bool libc_only,
			  struct hook_plan *plan)
{
	struct elf_image image;
	struct elf_symbol symbol;

	if (allocators_open_image(input, module, &image) < 0)
		return 0;
	if (!plan->main_stack_end && elf_image_lookup(&image, "__libc_stack_end", &symbol) == 0)
		take_stack_end(input, &symbol, plan);
	if (!plan->link_map)
		plan->link_map = module->handle;
	if (!plan->dlopen && (is_libc(&image) || is_libdl(module)))
		take_dlopen(&image, "dlopen", "dlclose", RTLD_NOW, plan);
	if (is_complete(plan) || (libc_only && !is_libc(&image)))
		return 0;
	return search_image(input, &image, plan);
}

/* Programs that have neither dlopen nor libdl, glibc 2.33 and earlier. */
static void look_for_old_dlopen(const struct allocators_input *input, struct hook_plan *plan)
{
	for (size_t i = 0; i < input->list->count && !plan->dlopen; i++) {
		struct elf_image image;

		if (input->list->module[i].space != 0 ||
		    allocators_open_image(input, &input->list->module[i], &image) < 0)
			continue;
		if (is_libc(&image))
			take_dlopen(&image, "__libc_dlopen_mode", "__libc_dlclose",
				    RTLD_NOW | LIBC_DLOPEN_FLAG, plan);
	}
}

/* Static programs have no dynamic symbols. */
static void look_at_symtabs(const struct allocators_input *input, const struct allocators *found,
			    struct hook_plan *plan)
{
	struct elf_symbol symbol;

	for (size_t i = 0; i < found->module_count && !plan->main_stack_end; i++) {
		if (allocators_lookup(&found->module[i], "__libc_stack_end", &symbol) == 0)
			take_stack_end(input, &symbol, plan);
	}
}

int gadgets_find(const struct allocators_input *input, const struct allocators *found,
		 struct hook_plan *ret)
{
	int r = 0;

	for (int libc_only = 1; libc_only >= 0; libc_only--) {
		for (size_t i = 0; i < input->list->count && r == 0; i++) {
			/* What another namespace calls libc is not the program's own. */
			if (input->list->module[i].space == 0)
				r = look_at_module(input, &input->list->module[i], libc_only, ret);
		}
	}
	look_for_old_dlopen(input, ret);
	look_at_symtabs(input, found, ret);
	return r;
}
