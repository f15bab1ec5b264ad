/* SPDX-License-Identifier: MIT */
/*
 * debug_missing.h - what a module's debug information refers to and lacks, or how it is compressed
 * so that it can't be read.
 *
 * libdw gives no error for either: names and lines are absent, as if there had never been any.
 */
#ifndef MEMATTACH_DEBUG_MISSING_H
#define MEMATTACH_DEBUG_MISSING_H

#include <elfutils/libdw.h>
#include <stdint.h>

/* Bits. */
enum debug_missing {
	DEBUG_MISSING_COMMON = 1,	/* dwz's common file */
	DEBUG_MISSING_SPLIT = 2,	/* .dwo files of some units */
	DEBUG_MISSING_ZSTD = 4,		/* a build with libzstd, to uncompress it */
	DEBUG_MISSING_FORM = 8,		/* a compression that memattach knows */
	DEBUG_MISSING_ROOM = 16,	/* more memory, or it is damaged */
	DEBUG_MISSING_ALL = 31
};
/* The bits for files that dwarf refers to and that could not be read. */
uint32_t debug_missing_files(Dwarf *dwarf);
/* The bit for the compression that debug_image_packing() found, 0 where it can be read. */
uint32_t debug_missing_packing(uint32_t packing);
/* Logs a line for each bit, which says what is missing of the module at path, and what helps. */
void debug_missing_log(const char *path, uint32_t missing);

#endif
