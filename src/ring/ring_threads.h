/* SPDX-License-Identifier: MIT */
/*
 * ring_threads.h - the thread table in the shared memory, read as it is: the target may have
 * forged it.
 */
#ifndef MEMATTACH_RING_THREADS_H
#define MEMATTACH_RING_THREADS_H

#include <stddef.h>

#include "inject/abi/ring_abi.h"

/*
 * Calls each() for every slot in pages that the shim has written to; no page is made by it.
 * control_bytes: of the whole mapping.
 */
void ring_threads_each(const struct ring_control *control, size_t control_bytes,
		       void (*each)(void *context, const struct ring_thread *thread),
		       void *context);
/*
 * Bytes that threads have asked for so far while blocks were drawn: those of each call that went
 * through a count-down, drawn or not. Calls inside of allocators count, too, so it is not less
 * than what was allocated. At the most 2^62.
 */
uint64_t ring_threads_passed(const struct ring_control *control, size_t control_bytes);

#endif
