/* SPDX-License-Identifier: MIT */
/*
 * cfi_list.h - which FDEs there are, and what code each one covers.
 */
#ifndef MEMATTACH_CFI_LIST_H
#define MEMATTACH_CFI_LIST_H

#include "src/unwind/cfi_cache.h"

/* The most FDEs that are looked at: 20 times libLLVM's. */
#define CFI_LIST_MAX	(1u << 21)

struct cfi_span {
	uint64_t start, end;	/* the code */
	uint64_t fde;
	uint64_t reach;		/* the greatest end up to here; only in a list that is complete */
	bool odd;		/* what a search finds here is not known, or not about this code */
};
struct cfi_list {
	struct cfi_source source;
	struct cfi_cache *cache;	/* borrowed */
	struct cfi_span *span;		/* sorted by start */
	size_t count, room;
	bool broken;		/* there may be more that could not be understood */
};

/* All of the module's search table. 0, -ENOENT none that is usable, -E2BIG, -ENOMEM. */
int cfi_list_from_table(struct cfi_list *list, const struct module *module) _must_check_;
/*
 * All entries in [address, address + bytes) of the source. whole: the section ends
 * there; else it ends somewhere before, with a terminator. 0, -E2BIG, -ENOMEM.
 */
int cfi_list_from_section(struct cfi_list *list, uint64_t address, uint64_t bytes,
			  bool whole) _must_check_;
void cfi_list_done(struct cfi_list *list);

#endif
