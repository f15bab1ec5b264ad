/* SPDX-License-Identifier: MIT */
/* shim_layout.h - where things are in our own shim's ELF image (trusted input). */
#ifndef MEMATTACH_SHIM_LAYOUT_H
#define MEMATTACH_SHIM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "inject/abi/ring_abi.h"
#include "src/base/cleanup.h"

struct shim_layout {
	uint64_t text_bytes;		/* of the r-x segment, page multiple; file offset 0 */
	uint64_t data_end;		/* behind the .bss page */
	uint64_t total_bytes;		/* text, data and a guard: a page that nobody may touch */
	uint64_t file_bytes;		/* of the image, rounded up to pages: the islands follow */
	uint64_t root;			/* offset of struct shim_root, page-aligned */
	uint64_t hooks_low, hooks_high;	/* offsets of the code that all hooks' calls are in */
	uint64_t hooks_custom;		/* from here on those of the program's own functions */
	uint64_t hook[RING_SHAPE_COUNT];	/* offsets, 0: none */
	uint64_t keeping[RING_SHAPE_COUNT];	/* of those that keep all registers */
};

/* Reads the layout of image. 0 or -ENOEXEC (not built as shim.lds says). */
int shim_layout_read(const void *image, size_t bytes, struct shim_layout *ret) _must_check_;

#endif
