/* SPDX-License-Identifier: MIT */
/*
 * spare_pages.c - see spare_pages.h. An analyst's and a keeper's structures have room for the most
 * that a target may have; a page of zeros that was never written to takes no memory when it is
 * read, on kernels that share one page of zeros.
 */
#include "src/base/spare_pages.h"

#include <stdint.h>
#include <string.h>

#define PAGE_BYTES 4096u

/* Of bytes at start, those up to the end of its page. */
static size_t of_page(const void *start, size_t bytes)
{
	size_t rest = PAGE_BYTES - ((uintptr_t)start & (PAGE_BYTES - 1));

	return rest < bytes ? rest : bytes;
}

void spare_clear(void *start, size_t bytes)
{
	static const uint8_t zeros[PAGE_BYTES];
	uint8_t *at = start;

	while (bytes > 0) {
		size_t n = of_page(at, bytes);

		if (memcmp(at, zeros, n) != 0)
			memset(at, 0, n);
		at += n;
		bytes -= n;
	}
}

void spare_copy(void *to, const void *from, size_t bytes)
{
	const uint8_t *source = from;
	uint8_t *at = to;

	while (bytes > 0) {
		size_t n = of_page(at, bytes);

		if (memcmp(at, source, n) != 0)
			memcpy(at, source, n);
		at += n;
		source += n;
		bytes -= n;
	}
}
