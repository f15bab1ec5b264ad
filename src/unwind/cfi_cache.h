/* SPDX-License-Identifier: MIT */
/*
 * cfi_cache.h - CIEs that were read already: thousands of FDEs share one.
 */
#ifndef MEMATTACH_CFI_CACHE_H
#define MEMATTACH_CFI_CACHE_H

#include "src/unwind/cfi_rows.h"

#define CFI_CACHE_SLOTS	64u

struct cfi_cached {
	const uint8_t *bytes;		/* of its source; address is its own */
	uint64_t address;
	bool used;
	int result;			/* of cfi_entry_cie */
	int initial_result;		/* of cfi_rows_initial */
	struct cfi_cie cie;
	struct cfi_rule initial;
};
/* Zeroed: empty. For the sources of one module. */
struct cfi_cache {
	struct cfi_cached slot[CFI_CACHE_SLOTS];
};

/* The CIE at address and the rule after its instructions; valid until the next call. */
const struct cfi_cached *cfi_cache_get(struct cfi_cache *cache, const struct cfi_source *source,
				       uint64_t address);

#endif
