/* SPDX-License-Identifier: MIT */
/* gadgets.h - what remote calls need of the target's own code: instructions, dlopen, dlclose. */
#ifndef MEMATTACH_GADGETS_H
#define MEMATTACH_GADGETS_H

#include "inject/attach/hook_plan.h"
#include "src/plan/allocators.h"

/*
 * Fills the last part of ret (gadget_syscall_ret ... dlopen_mode); what is not
 * found stays 0. found: the result of allocators_find (for static programs'
 * symbols). 0 or -ENOMEM.
 */
int gadgets_find(const struct allocators_input *input, const struct allocators *found,
		 struct hook_plan *ret) _must_check_;

#endif
