/* SPDX-License-Identifier: MIT */
/* sharers.h - other processes that run in the target's very address space. */
#ifndef MEMATTACH_SHARERS_H
#define MEMATTACH_SHARERS_H

#include "inject/target.h"

/*
 * True when a process that is not the target shares its memory: a vfork or
 * posix_spawn child, or one cloned with CLONE_VM alone. It is in no list of the
 * target's threads, and may be in the middle of any function.
 */
bool sharers_exist(const struct target *target);

#endif
