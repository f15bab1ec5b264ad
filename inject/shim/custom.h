/* SPDX-License-Identifier: MIT */
/* custom.h - the C halves of the hooks of a program's own functions; see shim.h. */
#ifndef MEMATTACH_SHIM_CUSTOM_H
#define MEMATTACH_SHIM_CUSTOM_H

#include "inject/shim/shim.h"

/* begin changes call->argument: the hook gives the original what it came with. */
bool shim_custom_begin(struct shim_call *call, enum ring_shape shape);
void shim_custom_end(struct shim_call *call, enum ring_shape shape);

#endif
