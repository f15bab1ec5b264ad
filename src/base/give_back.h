/* SPDX-License-Identifier: MIT */
/* give_back.h - memory that a busy moment took, for a process that now waits for days. */
#ifndef MEMATTACH_BASE_GIVE_BACK_H
#define MEMATTACH_BASE_GIVE_BACK_H

#include <stddef.h>

/*
 * Pages of freed heap memory, and of the calling thread's stack below where it stands, go back to
 * the system. The main thread alone may call it.
 */
void give_back_memory(void);
/*
 * Blocks of so many bytes or more get a mapping each, which goes back with them and of which only
 * what was written to takes memory. The least number that any call had counts. A call a system call
 * for each such block: for what lasts.
 */
void give_back_from(int bytes);
/* Nobody needs [start, start + bytes) of anonymous memory: whole pages of it are zeros from now. */
void give_back_buffer(void *start, size_t bytes);

#endif
