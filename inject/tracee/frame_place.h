/* SPDX-License-Identifier: MIT */
/* frame_place.h - where the signal frame and the calls of a borrowed thread may lie. */
#ifndef MEMATTACH_FRAME_PLACE_H
#define MEMATTACH_FRAME_PLACE_H

#include <sys/user.h>

#include "inject/tracee/target.h"

/*
 * True when the mapping that sp lies in has room below it for the frame and stack_room bytes more;
 * which of a blocked thread is known without stopping it. pid: the process of tid.
 */
bool frame_place_has_room(const struct procmaps *maps, pid_t pid, pid_t tid, uint64_t sp,
			  uint64_t stack_room);
/*
 * May a thread at sp be worth a stop? As above, or there is an end of [stack] that nobody has used
 * (frame_place_find).
 */
bool frame_place_may_be(const struct target *target, const struct procmaps *maps, pid_t tid,
			uint64_t sp, uint64_t stack_room);
/*
 * Below which address the frame and the calls may lie, of a thread that stands at registers: its
 * own stack pointer; or, where it is on another stack (a fiber's), the end of [stack] that has
 * never been used, in a process that has no other thread and shares its memory with none. 0: none.
 */
uint64_t frame_place_find(const struct target *target, const struct procmaps *maps, pid_t tid,
			  const struct user_regs_struct *registers, uint64_t stack_room)
	_must_check_;

#endif
