/* SPDX-License-Identifier: MIT */
/*
 * cfi_search.h - the search table of .eh_frame_hdr.
 *
 * Only the encoding that every linker writes is served: 4 bytes, relative to the header.
 */
#ifndef MEMATTACH_CFI_SEARCH_H
#define MEMATTACH_CFI_SEARCH_H

#include "src/modules/modules.h"

#define CFI_SEARCH_TABLE	12u	/* version, three encodings, eh_frame_ptr, fde_count */
#define CFI_SEARCH_ROW		8u

struct cfi_search {
	uint64_t header;		/* virtual address of .eh_frame_hdr, 0: no usable table */
	const uint8_t *row;
	uint32_t count;
};

struct cfi_search cfi_search_open(const struct module *module);
/* What a row says, relative to the header: at 0 where code starts, at 4 where its FDE is. */
int32_t cfi_search_value(const struct cfi_search *search, uint32_t row, size_t at);
/* The same as virtual addresses. */
static inline uint64_t cfi_search_start(const struct cfi_search *search, uint32_t row)
{
	return search->header + (uint64_t)(int64_t)cfi_search_value(search, row, 0);
}
static inline uint64_t cfi_search_fde(const struct cfi_search *search, uint32_t row)
{
	return search->header + (uint64_t)(int64_t)cfi_search_value(search, row, 4);
}

#endif
