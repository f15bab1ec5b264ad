/* SPDX-License-Identifier: MIT */
/* debug_source.h - an ELF file that is not trusted, read piece by piece. */
#ifndef MEMATTACH_DEBUG_SOURCE_H
#define MEMATTACH_DEBUG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the file is: fd, or if that is -1, bytes of memory. Both borrowed. */
struct debug_source {
	int fd;
	const uint8_t *bytes;
	uint64_t size;
};

/* Bytes at offset in the source; what the file does not have reads as zeros. */
void debug_source_read(const struct debug_source *source, uint64_t offset, void *buffer,
		       size_t bytes);
/* Does the file have all of [offset, offset + bytes)? */
bool debug_source_has(const struct debug_source *source, uint64_t offset, uint64_t bytes);

#endif
