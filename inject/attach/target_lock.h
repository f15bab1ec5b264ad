/* SPDX-License-Identifier: MIT */
/*
 * target_lock.h - at most one memattach is at work in a process.
 *
 * The lock is a listening socket with an abstract name that begins with the process's id and start
 * time: the kernel drops it when its holder dies, and nothing is left on a disk.
 */
#ifndef MEMATTACH_TARGET_LOCK_H
#define MEMATTACH_TARGET_LOCK_H

#include <stdbool.h>

#include "src/base/pidref.h"

/*
 * Takes the lock of the process. A holder that was killed a moment ago is waited for (a second at
 * the most). 0 and the lock, which close(2) gives back; -EALREADY a living memattach has it;
 * -errno.
 */
int target_lock_take(const struct pidref *ref, int *ret_fd) _must_check_;
/*
 * Takes questions for the holder out of its queue, up to 64 of them: the kernel has answered them,
 * and others find room. Never waits.
 */
void target_lock_answer(int lock);
/* Does a living memattach hold the lock? True, too, where that can't be found out. */
bool target_lock_is_held(const struct pidref *ref);

#endif
