/* SPDX-License-Identifier: MIT */
/* demangle.h - C++, Rust and D names as people write them. */
#ifndef MEMATTACH_DEMANGLE_H
#define MEMATTACH_DEMANGLE_H

#include "src/base/cleanup.h"

/*
 * The name as written in the source, with parameters for C++; NULL when name is
 * not mangled, too long or broken, or demangling was not built in. malloc'ed,
 * at most 16 KiB long.
 */
char *demangle(const char *name);

#endif
