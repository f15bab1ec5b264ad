/* SPDX-License-Identifier: MIT */
/* debug_image.h - an ELF file copied for libdw: whole for names, nobody's to change, with slack. */
#ifndef MEMATTACH_DEBUG_IMAGE_H
#define MEMATTACH_DEBUG_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* Where the file is: fd, or if that is -1, bytes of memory. Both borrowed. */
struct debug_source {
	int fd;
	const uint8_t *bytes;
	uint64_t size;
};
#define DEBUG_IMAGE_SLACK 4096u		/* zeros behind every section that is not loaded */

/*
 * A sealed memfd with an ELF file of the same headers, segments and sections, without code; its own
 * to close. -ENOEXEC no 64-bit ELF file, -EFBIG, -ENOMEM, -errno.
 */
int debug_image_make(const struct debug_source *source) _must_check_;

#endif
