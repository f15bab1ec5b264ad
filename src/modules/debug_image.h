/* SPDX-License-Identifier: MIT */
/* debug_image.h - an ELF file copied for libdw: whole for names, nobody's to change, with slack. */
#ifndef MEMATTACH_DEBUG_IMAGE_H
#define MEMATTACH_DEBUG_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/modules/debug_source.h"
#include "src/modules/image_room.h"

#define DEBUG_IMAGE_SLACK 4096u		/* zeros behind every section that is not loaded */

/*
 * A sealed memfd with an ELF file of the same headers, segments and sections, without code; the
 * caller's to close, whereafter *ret_bytes go back to room. Holes of a sparse file stay holes.
 * symbols_only: the copy has symbol tables, but no debug information.
 * -ENOEXEC no 64-bit ELF file, -EFBIG there is no room for that, -ENOMEM, -errno.
 */
int debug_image_make(const struct debug_source *source, struct image_room *room,
		     bool symbols_only, uint64_t *ret_bytes) _must_check_;
/* Bytes of debug information, uncompressed: what libdw may take for it. 0: there is none. */
uint64_t debug_image_info_bytes(const struct debug_source *source);
/*
 * How sections of the file are compressed that libelf may be unable to read: ELFCOMPRESS_ZSTD,
 * which debug_image_make() uncompresses, or another number, which it does not know. 0: none are.
 */
uint32_t debug_image_packing(const struct debug_source *source);

#endif
