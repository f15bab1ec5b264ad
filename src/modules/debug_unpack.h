/* SPDX-License-Identifier: MIT */
/*
 * debug_unpack.h - sections of an ELF file that are compressed by zstd, uncompressed.
 *
 * libelf before 0.189 does not know this form (gcc -gz=zstd), nor does a later one that was built
 * without zstd: it leaves such sections out without an error.
 */
#ifndef MEMATTACH_DEBUG_UNPACK_H
#define MEMATTACH_DEBUG_UNPACK_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/modules/debug_source.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2	/* glibc before 2.37 */
#endif

/* Can this build uncompress such sections? Else debug_unpack() always returns -ENOTSUP. */
bool debug_unpack_possible(void);
/*
 * How the section, which the file has whole, is compressed: ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD or
 * another number, and *ret its compression header. 0: it is not.
 */
uint32_t debug_unpack_type(const struct debug_source *source, const Elf64_Shdr *section,
			   Elf64_Chdr *ret);
/*
 * Writes size bytes of what the section is uncompressed to file, from offset to on: no more,
 * whatever the section holds. Takes memory for a window of at most 128 MiB. 0, -EBADMSG the section
 * is damaged or shorter, -ENOTSUP, -ENOMEM, -errno of the file.
 */
int debug_unpack(const struct debug_source *source, const Elf64_Shdr *section, uint64_t size,
		 int file, uint64_t to) _must_check_;

#endif
