/* SPDX-License-Identifier: MIT */
/* loader_locks.h - would dlopen or dlclose wait for a thread that does not exist? */
#ifndef MEMATTACH_LOADER_LOCKS_H
#define MEMATTACH_LOADER_LOCKS_H

#include "inject/tracee/target.h"

/* What to say then. */
#define LOADER_LOCKS_STUCK                                                                    \
	"it was forked while another thread of its parent held a lock of the dynamic loader, " \
	"so no library can be closed in it any more; only a restart takes the rest out"

/*
 * 1 when a lock of target's dynamic loader is held by no thread of target: whoever
 * calls dlopen or dlclose in there waits for ever. 0 when none is, or for a program without a
 * dynamic loader; -errno: it can't be told now.
 */
int loader_locks_stuck(const struct target *target);

#endif
