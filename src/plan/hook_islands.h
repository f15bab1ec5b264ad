/* SPDX-License-Identifier: MIT */
/* hook_islands.h - where the pages of trampolines go, and which entry uses which slot. */
#ifndef MEMATTACH_HOOK_ISLANDS_H
#define MEMATTACH_HOOK_ISLANDS_H

#include "inject/attach/hook_plan.h"
#include "src/base/procmaps.h"

/*
 * Gives every entry of plan an island and a slot. Entries for which no hole lies
 * near enough keep island HOOK_NO_ISLAND. 0 or -ENOMEM.
 */
#define HOOK_NO_ISLAND UINT16_MAX
int hook_islands_place(const struct procmaps *maps, struct hook_plan *plan) _must_check_;

#endif
