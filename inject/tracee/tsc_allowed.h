/* SPDX-License-Identifier: MIT */
/* tsc_allowed.h - may a thread of the target read the time stamp counter, as the hooks do? */
#ifndef MEMATTACH_TSC_ALLOWED_H
#define MEMATTACH_TSC_ALLOWED_H

#include "inject/tracee/remote_call.h"

/*
 * prctl(PR_SET_TSC) makes reading it a SIGSEGV, in the thread that calls it and all that it makes,
 * and /proc shows nothing of it: the borrowed thread is asked. 0; -ENODEV: it may not; -errno. What
 * doesn't know the question has no such thing. pre: the target's filter lets prctl pass.
 */
int tsc_check_allowed(struct borrow *borrow) _must_check_;

#endif
