/* SPDX-License-Identifier: MIT */
/* leaky_kinds.h - the kinds of leaky that stand in other files than leaky.c. */
#ifndef MEMATTACH_TESTS_LEAKY_KINDS_H
#define MEMATTACH_TESTS_LEAKY_KINDS_H

#include "tests/victims/leaky.h"

/* Ends with a name NULL. */
extern const struct leaky_kind leaky_more_kinds[];

/* leaky_heaps.c */
void leaky_build_freed(void);
void leaky_build_freed_holder(void);
void leaky_build_allocators(void);
void leaky_build_pvalloc(void);
void leaky_build_realloc(void);
void leaky_build_mapped(void);
void leaky_build_huge(void);
void leaky_build_library(void);

#endif
