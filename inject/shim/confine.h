/* SPDX-License-Identifier: MIT */
/* confine.h - our own system calls, as long as the program has not confined itself. */
#ifndef MEMATTACH_SHIM_CONFINE_H
#define MEMATTACH_SHIM_CONFINE_H

#include "inject/shim/shim.h"

/*
 * Any system call of ours; what control.may_* says is asked before. SHIM_NO_CALL: it is not made,
 * the program has confined itself since (confine.c).
 */
#define SHIM_NO_CALL (-4096l)	/* no error is so low */
long shim_syscall(struct ring_control *control, long number, const uint64_t argument[6]);

/* Before prctl() and syscall(); false, always. */
bool shim_confine_begin(struct shim_call *call, enum ring_shape shape);
void shim_confine_end(struct shim_call *call, enum ring_shape shape);

#endif
