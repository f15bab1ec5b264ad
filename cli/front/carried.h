/* SPDX-License-Identifier: MIT */
/* carried.h - what of memattach's lies in a process, by the kernel's list of its mappings. */
#ifndef MEMATTACH_CARRIED_H
#define MEMATTACH_CARRIED_H

#include <sys/types.h>

enum carried {
	CARRIED_NOTHING = 0,	/* or it can't be looked at, or has ended */
	CARRIED_COPIES,		/* the shim alone: it was forked while its parent was watched */
	CARRIED_RING,		/* what a session has put there */
	CARRIED_SHARED,		/* its memory is its parent's (vfork): another session's business */
};

/* Whether a living memattach is at work there is not asked: target_lock_is_held(). */
enum carried carried_by(pid_t pid);

#endif
