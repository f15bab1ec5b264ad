/* SPDX-License-Identifier: MIT */
/*
 * cfi_sections.h - where a module's file has call frame information, by its sections.
 */
#ifndef MEMATTACH_CFI_SECTIONS_H
#define MEMATTACH_CFI_SECTIONS_H

#include "src/modules/modules.h"

struct cfi_sections {
	bool eh_frame, debug_frame;		/* it has one */
	bool unclear;				/* it may have some that were not found */
	uint64_t eh_frame_address, eh_frame_bytes;
	uint8_t *debug;				/* .debug_frame's bytes; NULL: not to be had */
	size_t debug_bytes;
};

/* 0 (also: no sections, or unclear ones), -ENOMEM. */
int cfi_sections_find(const struct module *module, struct cfi_sections *ret) _must_check_;
void cfi_sections_done(struct cfi_sections *sections);

#endif
