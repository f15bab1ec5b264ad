/* SPDX-License-Identifier: MIT */
/* cfi_search.c - the search table of .eh_frame_hdr. */
#include "src/unwind/cfi_search.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* Header: version 1, eh_frame_ptr 4 bytes, fde_count udata4, table datarel sdata4. */
struct cfi_search cfi_search_open(const struct module *module)
{
	const uint8_t *head;
	uint32_t count, flags;

	if (module->eh_frame_hdr == 0)
		return (struct cfi_search){ 0 };
	head = module_bytes(module, module->eh_frame_hdr, CFI_SEARCH_TABLE, &flags);
	if (!head || (flags & PF_W) || head[0] != 1 || (head[1] & 0x07) != DW_EH_PE_udata4 ||
	    head[2] != DW_EH_PE_udata4 || head[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return (struct cfi_search){ 0 };
	memcpy(&count, head + 8, sizeof(count));
	if (!module_bytes(module, module->eh_frame_hdr,
			  CFI_SEARCH_TABLE + (size_t)count * CFI_SEARCH_ROW, NULL))
		return (struct cfi_search){ 0 };
	return (struct cfi_search){
		.header = module->eh_frame_hdr, .row = head + CFI_SEARCH_TABLE, .count = count,
	};
}

int32_t cfi_search_value(const struct cfi_search *search, uint32_t row, size_t at)
{
	int32_t value;

	memcpy(&value, search->row + (size_t)row * CFI_SEARCH_ROW + at, sizeof(value));
	return value;
}
