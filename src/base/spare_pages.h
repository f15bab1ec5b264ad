/* SPDX-License-Identifier: MIT */
/*
 * spare_pages.h - as memset and memcpy, for large structures most of which stay zero: a page of
 * them that no byte changes in is not written to, and so takes no memory. A kernel without a shared
 * page of zeros (some para-virtual guests) gives a page to each one that is read: nothing is saved.
 */
#ifndef MEMATTACH_BASE_SPARE_PAGES_H
#define MEMATTACH_BASE_SPARE_PAGES_H

#include <stddef.h>

void spare_clear(void *start, size_t bytes);
/* They must not overlap. */
void spare_copy(void *to, const void *from, size_t bytes);

#endif
