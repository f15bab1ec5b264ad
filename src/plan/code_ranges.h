/* SPDX-License-Identifier: MIT */
/* code_ranges.h - which functions lie around an address, by call frame information or symbols. */
#ifndef MEMATTACH_CODE_RANGES_H
#define MEMATTACH_CODE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "src/elf/elf_image.h"
#include "src/plan/symtab.h"

#define CODE_MAX_RANGES 64u

struct code_ranges {
	size_t count;
	struct entry_span range[CODE_MAX_RANGES];	/* sorted by low; may touch, may overlap */
};

/*
 * Collects the functions that meet [low, high), the nearest one that starts
 * before it and the first one behind it, by the search table of .eh_frame_hdr,
 * or by symtab (may be NULL) where there is no such table. At most
 * CODE_MAX_RANGES, from low on. 0, -ENOENT nothing tells, -EBADMSG, -errno.
 */
int code_ranges_near(const struct elf_image *image, const struct symtab *symtab, uint64_t low,
		     uint64_t high, struct code_ranges *ret) _must_check_;
/* The function that holds address, or NULL. Borrowed from ranges. */
const struct entry_span *code_ranges_find(const struct code_ranges *ranges, uint64_t address);

#endif
