/* SPDX-License-Identifier: MIT */
/* cfi_cache.c - CIEs that were read already: thousands of FDEs share one. */
#include "src/unwind/cfi_cache.h"

#include "src/base/hashmap.h"

const struct cfi_cached *cfi_cache_get(struct cfi_cache *cache, const struct cfi_source *source,
				       uint64_t address)
{
	struct cfi_cached *cached = &cache->slot[hashmap_hash(address) % CFI_CACHE_SLOTS];

	if (cached->used && cached->address == address && cached->bytes == source->bytes)
		return cached;
	*cached = (struct cfi_cached){ .bytes = source->bytes, .address = address, .used = true };
	cached->result = cfi_entry_cie(source, address, &cached->cie);
	if (cached->result == 0)
		cached->initial_result = cfi_rows_initial(&cached->cie, &cached->initial);
	return cached;
}
