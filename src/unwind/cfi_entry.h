/* SPDX-License-Identifier: MIT */
/*
 * cfi_entry.h - CIEs and FDEs: what stands before their instructions.
 */
#ifndef MEMATTACH_CFI_ENTRY_H
#define MEMATTACH_CFI_ENTRY_H

#include "src/modules/modules.h"
#include "src/unwind/cfi_bytes.h"

#define CFI_RETURN_COLUMN	16u	/* DWARF's number of rip; no higher one is accepted */
#define CFI_MAX_ENTRY		(1u << 20)	/* bytes of one FDE or CIE */

/*
 * Where entries lie. .eh_frame: in the module's read-only segments, at virtual
 * addresses. .debug_frame: in bytes, at offsets from its begin.
 */
struct cfi_source {
	const struct module *module;
	const uint8_t *bytes;		/* NULL: .eh_frame */
	size_t size;
};

struct cfi_cie {
	uint64_t low, high;		/* its own bytes */
	struct cfi_bytes program;
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_encoding;
	bool signal;			/* a signal handler's trampoline ('S') */
	bool sized;			/* 'z' */
};
struct cfi_head {			/* of an FDE */
	uint64_t low, high;		/* its own bytes */
	uint64_t cie;			/* where its CIE is */
	struct cfi_bytes rest;		/* all that follows the reference to its CIE */
};

/*
 * The entry at address, of which nothing is read but its length: only 32-bit lengths.
 * Its bytes after the length. 0, -EBADMSG, -EOPNOTSUPP.
 */
int cfi_entry_open(const struct cfi_source *source, uint64_t address,
		   struct cfi_bytes *ret) _must_check_;
/* True when .eh_frame's end is at address: a length of 0. */
bool cfi_entry_is_end(const struct cfi_source *source, uint64_t address);
/* The CIE at address. 0; -EBADMSG broken; -EOPNOTSUPP one that nobody writes for x86-64. */
int cfi_entry_cie(const struct cfi_source *source, uint64_t address,
		  struct cfi_cie *ret) _must_check_;
/*
 * The FDE at address, as far as it is to be understood without its CIE. 0, -EBADMSG
 * (also: it is a CIE), -EOPNOTSUPP.
 */
int cfi_entry_head(const struct cfi_source *source, uint64_t address,
		   struct cfi_head *ret) _must_check_;
/* What it covers; head->rest then is its instructions. 0 or -EBADMSG. */
int cfi_entry_range(const struct cfi_cie *cie, struct cfi_head *head, uint64_t *ret_start,
		    uint64_t *ret_end) _must_check_;

#endif
