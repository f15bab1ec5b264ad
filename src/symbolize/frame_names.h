/* SPDX-License-Identifier: MIT */
/* frame_names.h - functions during which a thread must not be made to call dlopen. */
#ifndef MEMATTACH_FRAME_NAMES_H
#define MEMATTACH_FRAME_NAMES_H

#include "src/modules/modules.h"

/*
 * Why a frame at virtual address offset of module forbids it ("a frame is in
 * fork"), or NULL. Goes by the module's exported symbols. The text is a constant.
 */
const char *frame_names_forbidden(const struct module *module, uint64_t offset);

/*
 * Functions of glibc's that write, and so may wait for long, with an allocator's lock held: whoever
 * calls dlopen meanwhile, on any thread, waits for them. ret: virtual addresses of at most room.
 * Returns how many.
 */
struct frame_names_range {
	uint64_t low, high;
};
size_t frame_names_locked_writers(const struct module *module, struct frame_names_range *ret,
				  size_t room);

#endif
