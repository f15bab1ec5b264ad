/* SPDX-License-Identifier: MIT */
/* custom.h - the C halves of the hooks of a program's own functions; see shim.h. */
#ifndef MEMATTACH_SHIM_CUSTOM_H
#define MEMATTACH_SHIM_CUSTOM_H

#include "inject/shim/shim.h"

/* What is copied of the stack above the return address: arguments that are not in registers. */
#define SHIM_CUSTOM_STACK_WORDS	16u

/*
 * begin changes call->argument: the hook gives the original what it came with; and fills stack, as
 * far as there is something, if the original is to be called.
 */
bool shim_custom_begin(struct shim_call *call, enum ring_shape shape,
		       uint64_t stack[static SHIM_CUSTOM_STACK_WORDS]);
/* What there is of bytes at from; the rest of to stays. pre: control.may_readv. (stack_copy.c) */
void shim_stack_read(struct ring_control *control, void *to, const void *from,
		     uint64_t bytes);
void shim_custom_end(struct shim_call *call, enum ring_shape shape);

#endif
