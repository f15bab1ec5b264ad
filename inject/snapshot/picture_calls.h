/* SPDX-License-Identifier: MIT */
/* picture_calls.h - what the child that a picture is made of is made to call, before it is read. */
#ifndef MEMATTACH_PICTURE_CALLS_H
#define MEMATTACH_PICTURE_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * child is our tracee, has just been made (CLONE_FILES), stands still, and dies with us. Makes it
 * call close_range(0, all, CLOSE_RANGE_UNSHARE) at syscall_ret: it has a table of its own then,
 * with nothing in it, and the target's is the target's alone. As long as they share one, an exec of
 * the target makes itself a copy of the table, to which its POSIX locks do not belong.
 * False: they share it still (an older kernel; a filter, which is not put to the test; a child that
 * ended).
 */
bool picture_drop_files(pid_t child, uint64_t syscall_ret);
/*
 * pre: picture_drop_files has succeeded. The child gives itself the highest score that the kernel
 * chooses by when memory runs out. False: it could not (there is no /proc in its root, or its file
 * is root's as the target is not dumpable).
 */
bool picture_offer_to_oom(pid_t child, uint64_t syscall_ret);

#endif
