/* SPDX-License-Identifier: MIT */
/*
 * cfi_sections.c - where a module's file has call frame information, by its sections.
 *
 * Needed for what the loaded segments don't tell: .eh_frame without a search
 * table, and .debug_frame, which is not loaded. Few modules have either, but each
 * is asked, so this reads the headers itself, some KiB of them, and leaves libelf
 * to those whose names are wanted: what is wrong with a file costs nothing here.
 * Compressed sections are left alone.
 */
#include "src/unwind/cfi_sections.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_SECTIONS	4096u
#define MAX_DEBUG	(64u << 20)	/* of .debug_frame */
#define NAME_BYTES	16u		/* of the names that matter, with their ends */

/* The bytes at offset of what libdw would be given; as many as there are. */
static size_t read_at(const struct module *module, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;

	if (module->fd < 0 || module->from_memory) {
		if (!module->file || offset >= module->file_bytes)
			return 0;
		if (bytes > module->file_bytes - offset)
			bytes = module->file_bytes - offset;
		memcpy(buffer, module_file(module, offset, bytes), bytes);
		return bytes;
	}
	while (done < bytes) {
		ssize_t n = pread(module->fd, (uint8_t *)buffer + done, bytes - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* All of it, or nothing. */
static int read_debug(const struct module *module, const Elf64_Shdr *header,
		      struct cfi_sections *sections)
{
	size_t bytes = header->sh_size;

	if (bytes == 0 || bytes > MAX_DEBUG || (header->sh_flags & SHF_COMPRESSED))
		return 0;
	sections->debug = malloc(bytes);
	if (!sections->debug)
		return -ENOMEM;
	sections->debug_bytes = bytes;
	if (read_at(module, header->sh_offset, sections->debug, bytes) == bytes)
		return 0;
	free(sections->debug);
	sections->debug = NULL;
	return 0;
}

static int cfi_sections_take(const struct module *module, const char *name,
			     const Elf64_Shdr *header, struct cfi_sections *sections)
{
	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (strcmp(name, ".eh_frame") == 0 && !sections->eh_frame) {
		sections->eh_frame = true;
		sections->eh_frame_address = header->sh_addr;
		sections->eh_frame_bytes = header->sh_size;
	} else if (strcmp(name, ".zdebug_frame") == 0) {
		sections->debug_frame = true;
	} else if (strcmp(name, ".debug_frame") == 0 && !sections->debug_frame) {
		sections->debug_frame = true;
		return read_debug(module, header, sections);
	}
	return 0;
}

/* The section headers; *ret is malloc'ed, NULL: there are none. */
static int read_headers(const struct module *module, Elf64_Shdr **ret, uint32_t *ret_count,
			uint32_t *ret_names)
{
	Elf64_Ehdr elf = { 0 };
	size_t bytes;
	Elf64_Shdr *header;

	*ret = NULL;
	if (read_at(module, 0, &elf, sizeof(elf)) < sizeof(elf) || elf.e_shoff == 0)
		return 0;
	/* No sections, or more than 65,279, whose number stands elsewhere. */
	if (elf.e_shentsize != sizeof(*header) || elf.e_shnum > MAX_SECTIONS || elf.e_shnum == 0 ||
	    elf.e_shstrndx >= elf.e_shnum)
		return -EBADMSG;
	bytes = elf.e_shnum * sizeof(*header);
	header = malloc(bytes);
	if (!header)
		return -ENOMEM;
	if (read_at(module, elf.e_shoff, header, bytes) < bytes) {
		free(header);
		return 0;	/* cut off, as in memory: nobody finds a section */
	}
	*ret = header;
	*ret_count = elf.e_shnum;
	*ret_names = elf.e_shstrndx;
	return 0;
}

int cfi_sections_find(const struct module *module, struct cfi_sections *ret)
{
	_cleanup_free_ Elf64_Shdr *header = NULL;
	struct cfi_sections sections = { 0 };
	uint32_t count = 0, names = 0;
	int r = read_headers(module, &header, &count, &names);

	for (uint32_t i = 0; header && i < count && r == 0; i++) {
		char name[NAME_BYTES] = "";

		read_at(module, header[names].sh_offset + header[i].sh_name, name,
			sizeof(name) - 1);
		r = cfi_sections_take(module, name, &header[i], &sections);
	}
	sections.unclear = r == -EBADMSG;
	if (r == -ENOMEM)
		cfi_sections_done(&sections);
	else
		*ret = sections;
	return r == -ENOMEM ? r : 0;
}

void cfi_sections_done(struct cfi_sections *sections)
{
	free(sections->debug);
	*sections = (struct cfi_sections){ 0 };
}
