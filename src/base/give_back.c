/* SPDX-License-Identifier: MIT */
/*
 * give_back.c - see give_back.h.
 *
 * A keeper and an analyst need the most while they attach: 0.4 and 0.9 MB of it were kept for the
 * whole session, of which there may be hundreds. What is below the stack's pointer nobody reads
 * again; parts of that which are not mapped are no error of madvise's that would keep it from the
 * others.
 */
#include "src/base/give_back.h"

#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>

#include "src/base/sanitized.h"

#define PAGE_BYTES	4096u
#define STACK_BYTES	(512u << 10)	/* as much was below it, at the most */
#define NEAR_BYTES	(4 * PAGE_BYTES)	/* what is called from here needs, and a signal */

static void give_back_stack(void)
{
#if !MEMATTACH_SANITIZED	/* its stack is not where the frame is */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE_BYTES - 1);

	(void)madvise((void *)(here - STACK_BYTES), STACK_BYTES - NEAR_BYTES, MADV_DONTNEED);
#endif
}

void give_back_buffer(void *start, size_t bytes)
{
	uintptr_t low = ((uintptr_t)start + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
	uintptr_t high = ((uintptr_t)start + bytes) & ~(uintptr_t)(PAGE_BYTES - 1);

	if (low < high)
		(void)madvise((void *)low, high - low, MADV_DONTNEED);
}

void give_back_from(int bytes)
{
	static int least;

	if (least && least <= bytes)
		return;
	least = bytes;
	(void)mallopt(M_MMAP_THRESHOLD, bytes);
}

void give_back_memory(void)
{
	(void)malloc_trim(0);
	give_back_stack();
}
