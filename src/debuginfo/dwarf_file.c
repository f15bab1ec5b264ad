/* SPDX-License-Identifier: MIT */
/*
 * dwarf_file.c - a module's ELF file and debug information, opened for libdw.
 *
 * Each module gets a Dwfl of its own with one Dwfl_Module placed at the file's
 * virtual addresses: closed modules overlap open ones, and a Dwfl can hold only
 * one module per address. Split debug files are found by libdwfl's own search. Of a file that
 * others than root could change libdw gets a copy of ours (debug_image.c), never a mapping, because
 * its owner may truncate it under us; and an uncompressed copy of what zstd has compressed.
 * What copies take is counted (module->room).
 * What is left: dwz and .dwo files that the debug information itself names are
 * opened and mapped by libdw. One that is truncated while we read it ends the
 * child in which this runs (apart.h).
 */
#include "src/debuginfo/dwarf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "src/base/log.h"
#include "src/debuginfo/debug_missing.h"
#include "src/debuginfo/symbol_files.h"
#include "src/modules/debug_image.h"
#include "src/modules/module_image.h"

struct dwarf_file {
	const struct module *module;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
	uint64_t copied;	/* bytes of the module's room */
	uint32_t missing;	/* enum debug_missing */
	bool has_information;
	bool searched;		/* for files that its debug information refers to */
};

static bool is_trusted(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == 0 &&
	       (stat.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Logs what is newly known to be missing, where somebody reads this process's log. */
static void note_missing(struct dwarf_file *file, uint32_t missing)
{
	debug_missing_log(file->module->path, missing & ~file->missing);
	file->missing |= missing;
}

/* Is there room for what libdw makes of the debug information in source, or none in there? */
static bool has_room(struct dwarf_file *file, const struct debug_source *source)
{
	const struct image_room *room = file->module->room;
	uint64_t bytes = debug_image_info_bytes(source);

	file->has_information |= bytes > 0;
	return !room || bytes <= __atomic_load_n(&room->left, __ATOMIC_RELAXED);
}

/* A copy of source; what it takes is file's until dwarf_file_close(). A descriptor or -errno. */
static int copy_for(struct dwarf_file *file, const struct debug_source *source)
{
	struct image_room *room = file->module->room;
	uint64_t bytes = 0;
	int fd = has_room(file, source) ? debug_image_make(source, room, false, &bytes) : -EFBIG;

	if (fd == -EFBIG) {
		note_missing(file, DEBUG_MISSING_ROOM);
		fd = debug_image_make(source, room, true, &bytes);
	}
	if (fd >= 0)
		file->copied += bytes;
	return fd;
}

/* Libelf's mapping of a file counts as this process's data. */
static bool data_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* May libdw have source itself? */
static bool is_readable(struct dwarf_file *file, const struct debug_source *source)
{
	uint32_t packing = debug_image_packing(source);
	bool room = has_room(file, source) || !data_is_limited();

	note_missing(file, debug_missing_packing(packing));
	return !packing && source->fd >= 0 && is_trusted(source->fd) && room;
}

Elf *dwarf_file_elf(const struct module *module)
{
	elf_version(EV_CURRENT);
	if (module->fd >= 0 && !module->from_memory)
		return elf_begin(module->fd, ELF_C_READ, NULL);
	if (module->file)
		return elf_memory((char *)(uintptr_t)module->file, module->file_bytes);
	return NULL;
}

/* libdwfl's callback; userdata was set to the dwarf_file. The descriptor is libdwfl's to close. */
static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base,
		    char **ret_path, Elf **ret_elf)
{
	struct dwarf_file *file = *userdata;
	const struct module *module = file->module;
	const struct debug_source source = {
		.fd = module->from_memory ? -1 : module->fd,
		.bytes = module->file, .size = module->file_bytes,
	};
	int fd = source.fd < 0 && !source.bytes ? -ENOENT :
		 is_readable(file, &source) ? fcntl(source.fd, F_DUPFD_CLOEXEC, 3) :
					      copy_for(file, &source);

	(void)dwfl_module;
	(void)name;
	(void)base;
	*ret_elf = NULL;
	*ret_path = fd < 0 ? NULL : strdup(module->path);
	return fd < 0 ? -1 : fd;
}

/* libdwfl's callback: its standard search, then a private copy unless only root could change it. */
static int find_debuginfo(Dwfl_Module *dwfl_module, void **userdata, const char *name,
			  Dwarf_Addr base, const char *path, const char *link, GElf_Word crc,
			  char **ret_path)
{
	struct dwarf_file *file = *userdata;
	int fd = dwfl_standard_find_debuginfo(dwfl_module, userdata, name, base, path, link, crc,
					      ret_path);
	struct debug_source source;
	int copy;

	if (fd < 0)
		fd = symbol_files_open_fetched(file->module->build_id);
	source = (struct debug_source){ .fd = fd };
	if (fd < 0 || is_readable(file, &source))
		return fd < 0 ? -1 : fd;
	copy = copy_for(file, &source);
	close(fd);
	return copy < 0 ? -1 : copy;
}

static int section_address(Dwfl_Module *dwfl_module, void **userdata, const char *name,
			   Dwarf_Addr base, const char *section, GElf_Word index,
			   const GElf_Shdr *header, Dwarf_Addr *ret)
{
	(void)dwfl_module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)section;
	(void)index;
	*ret = header->sh_addr;
	return 0;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = section_address,
};

static int report(struct dwarf_file *file)
{
	uint64_t low, high;
	void **userdata;

	module_image_extent(file->module, &low, &high);
	if (low >= high)
		return -ENOENT;
	dwfl_report_begin(file->dwfl);
	file->dwfl_module = dwfl_report_module(file->dwfl, file->module->path, low, high);
	if (file->dwfl_module) {
		dwfl_module_info(file->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = file;
	}
	if (dwfl_report_end(file->dwfl, NULL, NULL) != 0 || !file->dwfl_module)
		return -ENOMEM;
	return 0;
}

int dwarf_file_open(const struct module *module, struct dwarf_file **ret)
{
	struct dwarf_file *file;
	GElf_Addr bias;
	int r;

	if ((module->fd < 0 && !module->file) || module_read_names(module) == MODULE_NO_NAMES)
		return -ENOENT;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->module = module;
	file->dwfl = dwfl_begin(&callbacks);
	r = file->dwfl ? report(file) : -ENOMEM;
	if (r == 0 && !dwfl_module_getelf(file->dwfl_module, &bias))
		r = -ENOENT;
	if (r < 0) {
		dwarf_file_close(file);
		return r;
	}
	*ret = file;
	return 0;
}

void dwarf_file_close(struct dwarf_file *file)
{
	if (!file)
		return;
	if (file->dwfl)
		dwfl_end(file->dwfl);
	image_room_give(file->module->room, file->copied);
	free(file);
}

Dwarf *dwarf_file_dwarf(struct dwarf_file *file, Dwarf_Addr *ret_bias)
{
	Dwarf *dwarf;

	if (module_read_names(file->module) != MODULE_TRUSTED)
		return NULL;
	dwarf = dwfl_module_getdwarf(file->dwfl_module, ret_bias);
	if (dwarf && !file->searched)
		note_missing(file, debug_missing_files(dwarf));
	if (!dwarf && file->has_information && !file->missing)
		note_missing(file, DEBUG_MISSING_ROOM);
	file->searched = true;
	return dwarf;
}

uint32_t dwarf_file_missing(const struct dwarf_file *file)
{
	return file->missing;
}

Dwfl_Module *dwarf_file_module(const struct dwarf_file *file)
{
	return file->dwfl_module;
}
