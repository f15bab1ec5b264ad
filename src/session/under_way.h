/* SPDX-License-Identifier: MIT */
/*
 * under_way.h - can a thread be in a call of an allocator that began before its entry point
 * was hooked? Then it may yet return a block that nobody will have seen allocated.
 */
#ifndef MEMATTACH_UNDER_WAY_H
#define MEMATTACH_UNDER_WAY_H

#include "inject/attach/hook_plan.h"
#include "src/live/live.h"
#include "src/memory/picture.h"
#include "src/modules/modules.h"

struct under_way {
	const struct picture *picture;
	const struct modules *modules;	/* with the shim */
	const struct hook_plan *plan;
	const struct live *live;	/* everything up to the picture is booked */
};
/* False: no thread of the picture is. True: one may be. */
bool under_way(const struct under_way *input);

#endif
