/* SPDX-License-Identifier: MIT */
/*
 * module_pages.h - a private copy of what a module's file has of its PT_LOADs, read when it is
 * asked for. Of a C library memattach needs a fifth, and it may watch hundreds of programs.
 */
#ifndef MEMATTACH_MODULE_PAGES_H
#define MEMATTACH_MODULE_PAGES_H

#include "src/modules/modules.h"

struct module_pages;
/*
 * For bytes of the file fd, of which the first page and the segments are looked at; both are
 * borrowed for its life, and so is room, from which all that is read is taken (NULL: no limit).
 * 0 or -ENOMEM.
 */
int module_pages_new(int fd, const struct module_segment *segment, uint32_t segment_count,
		     size_t bytes, struct image_room *room, struct module_pages **ret)
	_must_check_;
void module_pages_free(struct module_pages *pages);
/* Where the copy lies, page-aligned. What was not asked for by module_pages_have() reads as 0. */
const uint8_t *module_pages_start(const struct module_pages *pages);
/*
 * Reads what is not there yet of [offset, offset + bytes), once for ever: bytes that were checked
 * stay as they were. What lies in no segment, or behind the file's end, or has no room, stays 0.
 * From any thread.
 */
void module_pages_have(struct module_pages *pages, size_t offset, size_t bytes);

#endif
