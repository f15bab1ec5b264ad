/* SPDX-License-Identifier: MIT */
/* memfd.h - files in memory, and one that has nothing in it. */
#ifndef MEMATTACH_BASE_MEMFD_H
#define MEMATTACH_BASE_MEMFD_H

/*
 * The flags of memfd_create() for every file of ours, on this kernel: closed at an exec, may be
 * sealed, and no program, which vm.memfd_noexec=2 demands (Linux 6.3 and later; its code may be
 * mapped all the same).
 */
unsigned int memfd_flags(void);
/* A new file in memory; the caller's. The name is what /proc/self/fd shows. -errno. */
int memfd_new(const char *name);
/*
 * A descriptor that reads as empty, and keeps nothing that is written (which may fail): /dev/null,
 * or a sealed file where there is none, as in a container without /dev. The caller's; -errno.
 */
int memfd_nothing(void);

#endif
