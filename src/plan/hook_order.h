/* SPDX-License-Identifier: MIT */
/* hook_order.h - in which order a plan's entries are patched. */
#ifndef MEMATTACH_HOOK_ORDER_H
#define MEMATTACH_HOOK_ORDER_H

#include "inject/attach/hook_plan.h"

/* What gives memory back first: no block is seen to live because its free was missed. */
void hook_plan_sort(struct hook_plan *plan);

#endif
