/* SPDX-License-Identifier: MIT */
/* huge_pages.h - large arrays that are met in no order. */
#ifndef MEMATTACH_HUGE_PAGES_H
#define MEMATTACH_HUGE_PAGES_H

#include <stddef.h>

/*
 * Asks for huge pages for array, if one fits into it: with small ones, much of the time that a
 * table of blocks takes goes into finding pages. Best before it is filled. Nothing changes but
 * speed, whatever the kernel makes of it; errno is kept.
 */
void huge_pages_ask(void *array, size_t bytes);

#endif
