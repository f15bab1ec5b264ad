/* SPDX-License-Identifier: MIT */
/* dispatch_check.h - may system calls of a thread of the target end in a SIGSYS for the program? */
#ifndef MEMATTACH_DISPATCH_CHECK_H
#define MEMATTACH_DISPATCH_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * PR_SET_SYSCALL_USER_DISPATCH is a thread's own, and hooks run in all of them. Only where the
 * program handles SIGSYS is each thread asked, for which it is stopped: few programs do. true, too,
 * where that can't be told (before Linux 6.4). ret_held_us: how long one stood, at the most.
 * pre: its filters, if it has any, let it go on as it is (restart_syscall).
 */
bool dispatch_check(pid_t pid, uint64_t *ret_held_us);

/* By what /proc says of the signals that it handles. */
bool dispatch_is_answered(uint64_t signals_caught);

#endif
