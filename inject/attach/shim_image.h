/* SPDX-License-Identifier: MIT */
/*
 * shim_image.h - the shim's ELF file as it lies in the program.
 *
 * The same shared object that is installed in $(pkglibdir) for debuggers, less
 * its debug information (the build id is the same). Built first, included by
 * shim_image.S. Ours, so trusted: it needs no hostile-ELF care.
 */
#ifndef MEMATTACH_SHIM_IMAGE_H
#define MEMATTACH_SHIM_IMAGE_H

#include <stddef.h>

extern const unsigned char shim_image_start[] __attribute__((visibility("hidden")));
extern const unsigned char shim_image_end[] __attribute__((visibility("hidden")));

/* Length of the shim's ELF file, in bytes. */
static inline size_t shim_image_bytes(void)
{
	return (size_t)(shim_image_end - shim_image_start);
}

#endif
