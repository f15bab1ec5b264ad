/* SPDX-License-Identifier: MIT */
/* huge_pages.c - see huge_pages.h. */
#include "src/base/huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE ((uintptr_t)4096)
#define HUGE_BYTES ((size_t)2 << 20)

void huge_pages_ask(void *array, size_t bytes)
{
	uintptr_t at = (uintptr_t)array, begin = at & ~(PAGE - 1);
	uintptr_t end = (at + bytes + PAGE - 1) & ~(PAGE - 1);
	int saved = errno;

	/* All of its pages: a mapping of which a part was advised can't be moved as one. */
	if (bytes >= HUGE_BYTES)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	errno = saved;
}
