/* SPDX-License-Identifier: MIT */
/* samples.h - what the kernel wrote about hits of watched words, taken apart. */
#ifndef MEMATTACH_ACCESS_SAMPLES_H
#define MEMATTACH_ACCESS_SAMPLES_H

#include "inject/snapshot/access_watch.h"
#include "src/unwind/unwind.h"

struct access_sample {
	uint32_t slot;			/* below ACCESS_SLOTS */
	struct unwind_registers registers;	/* in user mode, behind the access */
	const uint8_t *stack;		/* from rsp on; borrowed */
	size_t stack_bytes;		/* 0: unreadable */
};

/*
 * Tells each() every hit in the records of one thread: thread->bytes bytes at records. The number
 * of hits told; *ret_lost: hits that the kernel had no room for. Stops at the first record
 * that can't be one: what comes before it counts.
 */
size_t access_samples_each(const struct access_thread *thread, const uint8_t *records,
			   void (*each)(void *context, const struct access_sample *sample),
			   void *context, uint64_t *ret_lost);

#endif
