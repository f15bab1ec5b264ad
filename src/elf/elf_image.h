/* SPDX-License-Identifier: MIT */
/*
 * elf_image.h - a 64-bit little-endian ELF object as it lies in some memory.
 *
 * Reads program headers, the dynamic section, the dynamic symbol table (by
 * DT_GNU_HASH or DT_HASH) and the build id through a reader callback, so that
 * the same code serves a live target, a file and a fuzzer. Every offset and
 * count is hostile: checked, bounded, never followed twice without a re-check.
 */
#ifndef MEMATTACH_ELF_IMAGE_H
#define MEMATTACH_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* Reads exactly bytes at address; 0 or -errno. */
struct elf_reader {
	int (*read)(void *context, uint64_t address, void *buffer, size_t bytes);
	void *context;
};
/* A reader over fd (/proc/PID/mem): context points to the int. */
int elf_reader_fd(void *context, uint64_t address, void *buffer, size_t bytes);

#define ELF_MAX_BUILD_ID 64
#define ELF_MAX_PHDR 64
#define ELF_MAX_SYMBOLS (1u << 20)
#define ELF_MAX_STRTAB (64u << 20)

struct elf_image {
	struct elf_reader reader;
	uint64_t base;			/* address of the ELF header */
	uint64_t bias;			/* what is added to a virtual address of the file */
	uint64_t low, high;		/* of all PT_LOAD, in memory, rounded out to pages */
	uint64_t entry;			/* e_entry + bias */
	uint16_t type, machine;
	uint16_t phdr_count;
	Elf64_Phdr phdr[ELF_MAX_PHDR];
	uint64_t dynamic;		/* address of PT_DYNAMIC, 0: none (static) */
	uint64_t symtab, strtab, strtab_bytes, gnu_hash, sysv_hash;	/* addresses, 0: none */
	uint64_t versym;		/* address of DT_VERSYM, 0: none */
	uint64_t debug_slot;		/* address of the value of DT_DEBUG, 0: none */
	uint64_t eh_frame_hdr;		/* address of PT_GNU_EH_FRAME, 0: none */
	uint8_t build_id[ELF_MAX_BUILD_ID];
	uint8_t build_id_bytes;
};

struct elf_symbol {
	uint64_t address;		/* biased; 0 for undefined */
	uint64_t size;
	uint8_t type, binding, visibility;
	uint16_t section;
	uint16_t version;		/* DT_VERSYM index without the hidden bit; 0: none */
	bool hidden;			/* an old version, only for those who ask for it */
	const char *name;		/* valid in the callback only */
};

/*
 * Opens the image whose ELF header lies at base; nothing to release. Does not allocate.
 * 0, -ENOEXEC not such an ELF, -EBADMSG broken, -errno.
 */
int elf_image_open(const struct elf_reader *reader, uint64_t base,
		   struct elf_image *ret) _must_check_;
/*
 * Finds the defined dynamic symbol name of type FUNC, IFUNC or OBJECT whose
 * address lies in the image: its default version if there is one, else the
 * first hidden one. The name in ret is the caller's. Does not allocate.
 * 0, -ENOENT (also: no hash table), -EBADMSG, -errno.
 */
int elf_image_lookup(const struct elf_image *image, const char *name,
		     struct elf_symbol *ret) _must_check_;
/*
 * Calls each() for every dynamic symbol, undefined and hidden ones too, until it
 * returns nonzero; returns that, or 0, or -errno (-E2BIG: the tables claim more
 * than ELF_MAX_SYMBOLS or ELF_MAX_STRTAB). Addresses are as the file claims.
 */
int elf_image_each(const struct elf_image *image,
		   int (*each)(void *context, const struct elf_symbol *symbol), void *context);

#endif
