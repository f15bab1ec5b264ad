/* SPDX-License-Identifier: MIT */
/* picture_files.h - the child that is a picture of the target's memory gives up descriptors. */
#ifndef MEMATTACH_PICTURE_FILES_H
#define MEMATTACH_PICTURE_FILES_H

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
bool picture_files_drop(pid_t child, uint64_t syscall_ret);

#endif
