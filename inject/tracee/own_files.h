/* SPDX-License-Identifier: MIT */
/* own_files.h - threads that have file descriptors of their own, apart from the process's. */
#ifndef MEMATTACH_OWN_FILES_H
#define MEMATTACH_OWN_FILES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Has thread tid other descriptors than thread lead (proc_live_thread(): /proc and pidfd_getfd
 * show those as the process's), by unshare(CLONE_FILES) or a clone without it? False, too, where
 * the kernel does not tell (ENOSYS, EPERM: no kcmp) or either is gone. The answer holds while both
 * are stopped. [no heap]
 */
bool own_files_has(pid_t lead, pid_t tid);

#endif
