/* SPDX-License-Identifier: MIT */
/* thread_frames.h - where a thread of a picture is, and through which calls it came there. */
#ifndef MEMATTACH_LEAK_THREAD_FRAMES_H
#define MEMATTACH_LEAK_THREAD_FRAMES_H

#include "src/unwind/cfi_rule.h"
#include "src/memory/picture.h"

/*
 * Fills pc with where the thread is, then with the address before each return address (of a
 * frame that a signal interrupted: where it stood). As far as the modules' call frame
 * information leads, room at the most. The number of them.
 */
size_t thread_frames(const struct picture *picture, const struct modules *modules,
		     struct cfi_rules *rules, const struct picture_thread *thread, uint64_t *pc,
		     size_t room);

#endif
