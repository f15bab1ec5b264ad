/* SPDX-License-Identifier: MIT */
/*
 * link_map.c - finds and reads r_debug and the list of struct link_map.
 *
 * The way: AT_PHDR -> the executable's ELF header -> PT_DYNAMIC -> DT_DEBUG ->
 * r_debug; where DT_DEBUG is missing or empty (a program started as an argument
 * of ld.so, a linker that leaves it out) the symbol _r_debug of the interpreter,
 * of the image itself, or of a loader that the program has mapped (a packer's stub). glibc and musl
 * lay the structures out alike.
 *
 * The target runs meanwhile: a list whose l_prev does not match is read again a
 * few times, and a state other than RT_CONSISTENT is reported, not waited for: a
 * thread may hang in dlopen for good. The list from disk (DT_NEEDED, ld.so.cache)
 * is never used instead: it says what would be loaded, not what is.
 */
#include "src/elf/link_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES		4u
#define PAGE_BYTES	4096u

/* The loader's structures as they lie in the target (glibc elf/link.h, musl include/link.h). */
struct remote_debug {
	int32_t version;
	uint32_t pad0;
	uint64_t map;
	uint64_t brk;
	int32_t state;
	uint32_t pad1;
	uint64_t ldbase;
	uint64_t next;		/* version 2 and later (glibc 2.35): the next namespace */
};
#define REMOTE_DEBUG_V1_BYTES offsetof(struct remote_debug, next)

struct remote_module {
	uint64_t addr, name, ld, next, prev;
};

static int read_memory(const struct elf_reader *reader, uint64_t address, void *buffer,
		       size_t bytes)
{
	return reader->read(reader->context, address, buffer, bytes);
}

/* Copies a string page by page (its end may be the end of a mapping); cut to fit, always ended. */
static int read_name(const struct elf_reader *reader, uint64_t address, char *buffer, size_t bytes)
{
	size_t used = 0;

	memset(buffer, 0, bytes);
	if (!address)
		return 0;
	while (used < bytes - 1) {
		size_t room = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
		size_t n = bytes - 1 - used < room ? bytes - 1 - used : room;
		int r = read_memory(reader, address, buffer + used, n);

		if (r < 0)
			return r;
		if (memchr(buffer + used, '\0', n))
			return 0;
		used += n;
		address += n;
	}
	return 0;
}

void link_map_parse_auxv(const void *bytes, size_t count, struct link_map_auxv *ret)
{
	*ret = (struct link_map_auxv){ 0 };
	for (size_t at = 0; count - at >= sizeof(Elf64_auxv_t); at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, (const char *)bytes + at, sizeof(entry));
		if (entry.a_type == AT_NULL)
			return;
		if (entry.a_type == AT_PHDR)
			ret->phdr = entry.a_un.a_val;
		else if (entry.a_type == AT_BASE)
			ret->base = entry.a_un.a_val;
		else if (entry.a_type == AT_ENTRY)
			ret->entry = entry.a_un.a_val;
	}
}

/* Start of the mapping of the same file at offset 0 that is nearest below address; 0: none. */
static uint64_t file_start(const struct procmaps *maps, uint64_t address)
{
	const struct procmap *map = procmaps_find(maps, address), *at;

	if (!map || !map->inode)
		return 0;
	for (at = map; at >= maps->map; at--) {
		if (at->offset == 0 && at->inode == map->inode &&
		    at->dev_major == map->dev_major && at->dev_minor == map->dev_minor)
			return at->start;
	}
	return 0;
}

int link_map_find_exe(const struct link_map_input *input, uint64_t *ret_base)
{
	uint64_t near = input->auxv.phdr ? input->auxv.phdr : input->auxv.entry, base;
	struct elf_image image;
	int r = -ENOENT;

	base = file_start(input->maps, near);
	if (base)
		r = elf_image_open(input->reader, base, &image);
	/* Packed or unnamed executables: linkers put the program headers behind the ELF header. */
	if (r < 0 && input->auxv.phdr > sizeof(Elf64_Ehdr)) {
		base = input->auxv.phdr - sizeof(Elf64_Ehdr);
		r = elf_image_open(input->reader, base, &image);
	}
	if (r < 0)
		return -ENOENT;
	*ret_base = base;
	return 0;
}

/* Address of _r_debug by the dynamic symbols of the image at base, 0: none. */
static uint64_t debug_by_symbol(const struct elf_reader *reader, uint64_t base)
{
	struct elf_image image;
	struct elf_symbol symbol;

	if (!base || elf_image_open(reader, base, &image) < 0 ||
	    elf_image_lookup(&image, "_r_debug", &symbol) < 0)
		return 0;
	return symbol.address;
}

static uint64_t find_debug(const struct link_map_input *input, const struct elf_image *exe)
{
	uint64_t debug = 0;

	if (exe->debug_slot &&
	    read_memory(input->reader, exe->debug_slot, &debug, sizeof(debug)) < 0)
		debug = 0;
	if (!debug)
		debug = debug_by_symbol(input->reader, input->auxv.base);
	if (!debug && exe->dynamic)
		debug = debug_by_symbol(input->reader, exe->base);
	return debug;
}

static int read_debug(const struct link_map_input *input, uint64_t address,
		      struct remote_debug *ret)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_memory(input->reader, address, ret, REMOTE_DEBUG_V1_BYTES);
	if (r == 0 && ret->version >= 2)
		r = read_memory(input->reader, address + REMOTE_DEBUG_V1_BYTES, &ret->next,
				sizeof(ret->next));
	return r;
}

/*
 * A packer's stub is a static program that maps the real one and its dynamic loader itself: the
 * kernel knows but the stub. So a loader that is mapped, and has a list, is believed. A static
 * program that maps a loader for dlopen never runs it: there is no list.
 */
static uint64_t debug_by_mapping(const struct link_map_input *input, uint64_t *ret_base)
{
	for (size_t i = 0; i < input->maps->count; i++) {
		const struct procmap *map = &input->maps->map[i];
		const char *slash = strrchr(map->path, '/');
		struct remote_debug debug;
		uint64_t address;

		if (map->offset != 0 || !map->inode || !slash || strncmp(slash, "/ld-", 4) != 0)
			continue;
		address = debug_by_symbol(input->reader, map->start);
		if (!address || read_debug(input, address, &debug) < 0 || !debug.map)
			continue;
		*ret_base = map->start;
		return address;
	}
	return 0;
}

static struct link_map_module *append(struct link_map_list *list)
{
	struct link_map_module *bigger;

	/* 64 at a time, starting with none. */
	if (list->count % 64 == 0) {
		bigger = realloc(list->module, (list->count + 64) * sizeof(*bigger));
		if (!bigger)
			return NULL;
		list->module = bigger;
	}
	return &list->module[list->count++];
}

/* Adds one namespace. -EAGAIN: the links contradict each other, someone is changing them. */
static int read_space(const struct link_map_input *input, uint64_t first, uint32_t space,
		      struct link_map_list *list)
{
	uint64_t previous = 0;

	for (uint64_t at = first; at;) {
		struct link_map_module *module;
		struct remote_module raw;
		int r = read_memory(input->reader, at, &raw, sizeof(raw));

		if (r < 0 || raw.prev != previous)
			return -EAGAIN;
		if (list->count >= LINK_MAP_MAX_MODULES)
			return -E2BIG;
		module = append(list);
		if (!module)
			return -ENOMEM;
		*module = (struct link_map_module){ .handle = at, .bias = raw.addr,
						    .dynamic = raw.ld, .space = space };
		r = read_name(input->reader, raw.name, module->name, sizeof(module->name));
		if (r < 0)
			return -EAGAIN;
		previous = at;
		at = raw.next;
	}
	return 0;
}

/* All namespaces, from list->debug on. */
static int read_spaces(const struct link_map_input *input, struct link_map_list *list)
{
	uint64_t at = list->debug;

	list->count = 0;
	for (uint32_t space = 0; at && space < LINK_MAP_MAX_SPACES; space++) {
		struct remote_debug debug;
		int r = read_debug(input, at, &debug);

		if (r < 0)
			return -EBADMSG;
		if (space == 0) {
			list->notify = debug.brk;
			list->state = debug.state;
			if (debug.ldbase)
				list->interpreter_base = debug.ldbase;
		}
		r = read_space(input, debug.map, space, list);
		if (r < 0)
			return r;
		at = debug.next;
	}
	return 0;
}

/* A static program, or one whose loader has not run yet. */
static int add_exe_alone(const struct elf_image *exe, struct link_map_list *list)
{
	struct link_map_module *module;

	list->count = 0;
	module = append(list);
	if (!module)
		return -ENOMEM;
	*module = (struct link_map_module){ .bias = exe->bias, .dynamic = exe->dynamic };
	return 0;
}

static int read_list(const struct link_map_input *input, struct link_map_list *list)
{
	struct elf_image exe;
	int r = elf_image_open(input->reader, list->exe_base, &exe);

	if (r < 0)
		return r;
	list->debug = find_debug(input, &exe);
	if (!list->debug && !input->auxv.base)
		list->debug = debug_by_mapping(input, &list->interpreter_base);
	r = -EAGAIN;
	for (unsigned int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = read_spaces(input, list);
	if (r == 0 && list->count == 0)
		r = add_exe_alone(&exe, list);
	return r;
}

int link_map_read(const struct link_map_input *input, struct link_map_list *ret)
{
	struct link_map_list list = { .exe_base = input->exe_base,
				 .interpreter_base = input->auxv.base };
	int r = list.exe_base ? 0 : link_map_find_exe(input, &list.exe_base);

	if (r == 0)
		r = read_list(input, &list);
	if (r < 0) {
		link_map_done(&list);
		return r;
	}
	*ret = list;
	return 0;
}

const char *link_map_error(int error)
{
	switch (error) {
	case -EAGAIN:
		return "it leads into nothing, contradicts itself, or never stays as it is";
	case -E2BIG:
		return "it has more than 4096 of them";
	case -EBADMSG:
		return "it is broken";
	case -ENOENT:
		return "its program is not to be found in its memory; if it has just called exec, "
		       "try again";
	}
	return strerror(-error);	/* of a read, which says what it was */
}

void link_map_done(struct link_map_list *list)
{
	free(list->module);
	*list = (struct link_map_list){ 0 };
}

const struct link_map_module *link_map_find_name(const struct link_map_list *list,
						 const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->module[i].name, name) == 0)
			return &list->module[i];
	}
	return NULL;
}

uint64_t link_map_module_base(const struct procmaps *maps, const struct link_map_module *module)
{
	return module->dynamic ? file_start(maps, module->dynamic) : 0;
}
