/* SPDX-License-Identifier: MIT */
/*
 * thread_stacks.h - where the stacks of threads lie that allocate, by their control blocks.
 *
 * That a stack pointer lies below the control block in one mapping says nothing about what is in
 * between: the kernel joins neighbours, and guards need not be mappings.
 */
#ifndef MEMATTACH_THREAD_STACKS_H
#define MEMATTACH_THREAD_STACKS_H

#include "inject/abi/ring_abi.h"
#include "src/base/procmaps.h"

struct thread_stacks_input {
	const struct ring_control *control;	/* its thread table says who has come by */
	size_t control_bytes;			/* of the whole mapping */
	const struct procmaps *maps;
	int mem, pagemap;			/* of the target; pagemap: -1 there is none */
};

struct thread_stacks {
	struct ring_range range[RING_MAX_STACKS];	/* from a stack's begin to its block */
	uint32_t count;					/* they ascend by their ends */
	uint32_t word;	/* offset in each control block of the word that holds the begin */
};

/*
 * Those stacks that libc has at hand as one area with the control block at its end (glibc; musl,
 * where the program has not given the stack) and that may be read and written, but for a guard: of
 * threads that the shim has met, and of those whose stack ends where its mapping does.
 * The first thread's [stack] is none of them.
 */
void thread_stacks_find(const struct thread_stacks_input *input, struct thread_stacks *ret);

#endif
