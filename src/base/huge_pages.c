/* SPDX-License-Identifier: MIT */
/* huge_pages.c - see huge_pages.h. */
#include "src/base/huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

void huge_pages_ask(void *array, size_t bytes)
{
	uintptr_t at = (uintptr_t)array, begin = (at + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	uintptr_t end = (at + bytes) & ~(HUGE_BYTES - 1);
	int saved = errno;

	if (begin < end)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	errno = saved;
}
