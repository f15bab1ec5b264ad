/* SPDX-License-Identifier: MIT */
/* own_calls.h - frees that glibc's malloc makes on its own account. */
#ifndef MEMATTACH_OWN_CALLS_H
#define MEMATTACH_OWN_CALLS_H

#include "src/plan/allocators.h"

#define OWN_CALLS_MAX 4u

/*
 * The functions of module, a glibc, that hand blocks to free (its address) for no
 * caller of theirs: hook_plan.helper. Sets ret and *ret_count (perhaps 0). 0, -ENOENT
 * they can't be told from others (a stripped static program), -errno.
 */
int own_calls_find(const struct allocator_module *module, uint64_t free,
		   struct ring_range ret[OWN_CALLS_MAX], uint32_t *ret_count) _must_check_;

#endif
