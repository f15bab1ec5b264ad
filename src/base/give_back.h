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
/* Nobody needs [start, start + bytes) of anonymous memory: whole pages of it are zeros from now. */
void give_back_buffer(void *start, size_t bytes);

#endif
