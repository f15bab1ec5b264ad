/* SPDX-License-Identifier: MIT */
/*
 * leak_heap_lab.c - see leak_heap_lab.h.
 *
 * Memory is a sparse file, which is read at the addresses that its parts have in the modelled
 * process. Rejected: to map the areas there and take a picture of this program. Its own
 * allocator would be in the picture as well, and a sanitizer's shadow at those addresses.
 */
#include "tests/unit/leak_heap_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint8_t *lab_byte(struct lab *lab, uint64_t address, size_t bytes)
{
	for (size_t i = 0; i < lab->area_count; i++) {
		const struct lab_area *a = &lab->area[i];

		if (address >= a->address && address - a->address < a->bytes &&
		    bytes <= a->bytes - (address - a->address))
			return (uint8_t *)lab + a->offset + (address - a->address);
	}
	return NULL;
}

void lab_put_some(struct lab *lab, uint64_t address, uint64_t value, size_t bytes)
{
	memcpy(lab_byte(lab, address, bytes), &value, bytes);
}

void lab_put(struct lab *lab, uint64_t address, uint64_t word)
{
	lab_put_some(lab, address, word, sizeof(word));
}

uint64_t lab_get(struct lab *lab, uint64_t address)
{
	uint64_t word;

	memcpy(&word, lab_byte(lab, address, sizeof(word)), sizeof(word));
	return word;
}

void lab_expect(struct lab *lab, uint64_t address, uint64_t bytes)
{
	if (lab->live_count == LAB_LIVE)
		abort();
	lab->live[lab->live_count++] = (struct block){ address, bytes };
}

void lab_put_elf(uint8_t *to, const Elf64_Phdr *phdr, size_t count)
{
	Elf64_Ehdr header = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
			      .e_phoff = sizeof(header), .e_phentsize = sizeof(*phdr),
			      .e_phnum = (uint16_t)count, .e_ehsize = sizeof(header) };

	memcpy(header.e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), phdr, count * sizeof(*phdr));
}

void lab_put_library(uint8_t *to)
{
	static const Elf64_Phdr phdr[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000,
		  .p_memsz = 0x2000, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2000, .p_vaddr = 0x2000,
		  .p_filesz = 0x6000, .p_memsz = 0x6000, .p_align = 0x1000 },
	};

	lab_put_elf(to, phdr, ARRAY_SIZE(phdr));
}

/* --- the picture -------------------------------------------------------------- */

int lab_read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read(context, address, buffer, bytes);
}

int lab_open_file(void *context, const struct procmap *map)
{
	int fd = open(map->path, O_RDONLY | O_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

static int write_areas(struct lab *lab)
{
	if (lab->memory <= 0)
		lab->memory = memfd_create("memory", MFD_CLOEXEC);
	if (lab->memory < 0 || (lab->end && ftruncate(lab->memory, (off_t)lab->end) < 0))
		return -errno;
	for (size_t i = 0; i < lab->area_count; i++) {
		const struct lab_area *a = &lab->area[i];

		if (pwrite(lab->memory, (uint8_t *)lab + a->offset, a->bytes, (off_t)a->address) !=
		    (ssize_t)a->bytes)
			return -EIO;
	}
	return 0;
}

static int open_picture(struct lab *lab)
{
	struct picture_thread thread = { .tid = 1, .registers = lab->registers };
	int maps = memfd_create("maps", MFD_CLOEXEC), r = -EIO;

	if (write(maps, lab->maps, strlen(lab->maps)) >= 0)
		r = picture_open(dup(lab->memory), maps, &thread, 1, &lab->picture);
	if (maps >= 0)
		close(maps);
	return r;
}

int lab_open(struct lab *lab)
{
	int r = write_areas(lab);

	if (r == 0)
		r = open_picture(lab);
	if (r == 0)
		r = modules_new(&(struct module_source){ NULL, lab_read_memory, &lab->picture },
				&lab->modules);
	if (r == 0)
		r = modules_update(lab->modules, &lab->picture.maps);
	return r < 0 ? r : 0;
}

void lab_close(struct lab *lab)
{
	modules_free(lab->modules);
	picture_done(&lab->picture);
}

void lab_done(struct lab *lab)
{
	if (lab->memory > 0)
		close(lab->memory);
}

uint64_t lab_draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}
