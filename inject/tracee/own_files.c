/* SPDX-License-Identifier: MIT */
/*
 * own_files.c - see own_files.h.
 *
 * Where there is no kcmp, nothing tells one table from two with the same files: a thread then
 * counts as an ordinary one, and remote_memfd.c finds out by the first file that it makes.
 */
#include "inject/tracee/own_files.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

bool own_files_has(pid_t lead, pid_t tid)
{
	return lead > 0 && tid != lead && syscall(SYS_kcmp, lead, tid, KCMP_FILES, 0, 0) > 0;
}
