/* SPDX-License-Identifier: MIT */
/* signal_stack.h - a thread in a signal handler on an alternate stack: where it is and was. */
#ifndef MEMATTACH_LEAK_SIGNAL_STACK_H
#define MEMATTACH_LEAK_SIGNAL_STACK_H

#include "src/memory/picture.h"

struct signal_stack {
	uint64_t low, high;		/* the alternate stack */
	uint64_t interrupted;		/* stack pointer when the signal came, outside of it */
};
/*
 * Looks through up to 256 KiB above rsp for the frame that the kernel made when it switched
 * to the alternate stack on which rsp is. 0, -ENOENT.
 */
int signal_stack_find(const struct picture *picture, uint64_t rsp,
		      struct signal_stack *ret) _must_check_;

#endif
