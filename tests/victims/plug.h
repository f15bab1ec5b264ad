/* SPDX-License-Identifier: MIT */
/*
 * plug.h - what the two plug-ins of truth_dlopen export.
 *
 * Both have the same layout and size, so that the second lands where the first was.
 */
#ifndef MEMATTACH_TESTS_PLUG_H
#define MEMATTACH_TESTS_PLUG_H

#include <stddef.h>

/* One allocation of size bytes; *ret_line is the line that makes it. */
typedef void *plug_allocate_fn(size_t size, int *ret_line);

#endif
