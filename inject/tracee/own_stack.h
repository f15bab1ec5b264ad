/* SPDX-License-Identifier: MIT */
/* own_stack.h - is a stack pointer on the thread's own stack, and where does that end? */
#ifndef MEMATTACH_OWN_STACK_H
#define MEMATTACH_OWN_STACK_H

#include "inject/tracee/target.h"
#include "src/base/procmaps.h"

struct own_stack {
	uint64_t low;	/* 0: not known; else nothing of it lies below */
	uint64_t high;	/* nothing that the thread can return to lies above */
	bool grows;	/* it is [stack] */
};

/* The stack that grows, when the thread itself touches it (not when we write). */
bool own_stack_is_main(const struct procmap *map, pid_t pid, pid_t tid);
/*
 * The process's first thread has [stack]; or, if it was forked by another thread than that, this
 * one's. Of such a stack the thread control block lies at the end, in one mapping with it, and has
 * its place and size (glibc, musl): what lies below that is another's, as a fiber's. Where it does
 * not say so (another libc) all of the mapping below counts as the stack, but not for the first
 * thread, whose control block may lie anywhere. true: sp lies on it, ret is filled.
 */
bool own_stack_find(const struct target *target, const struct procmaps *maps, pid_t tid,
		    uint64_t sp, uint64_t thread_pointer, struct own_stack *ret) _must_check_;

#endif
