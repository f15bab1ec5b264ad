/* SPDX-License-Identifier: MIT */
/* sealed_copy.h - bytes handed to another process as a descriptor that nobody can change. */
#ifndef MEMATTACH_SEALED_COPY_H
#define MEMATTACH_SEALED_COPY_H

#include <stddef.h>

#include "src/base/cleanup.h"

/* A descriptor of a sealed memfd that holds a copy of bytes at data, or -errno. */
int sealed_copy(const char *name, const void *data, size_t bytes) _must_check_;

#endif
