/* SPDX-License-Identifier: MIT */
/*
 * breakpoint.h - where the held thread of a program that we start ourselves is to stop.
 *
 * By a debug register, so that no byte of the program is changed. Virtual machines that do without
 * hardware support take them and never fire: there the instruction is replaced until the thread has
 * come to it. Either outlives us, so no other process ever has one.
 */
#ifndef MEMATTACH_BREAKPOINT_H
#define MEMATTACH_BREAKPOINT_H

#include <stdbool.h>

#include "inject/tracee/target.h"
#include "inject/tracee/tracee.h"

struct breakpoint {
	uint64_t address, word;	/* word: what was there, if software */
	bool software;
};

/* Do debug registers stop a thread here? Tried once, on a child of our own. */
bool breakpoint_hardware_works(void);
/*
 * target.held, which is stopped, will stop with SIGTRAP before it executes address; if it stands
 * there, when it comes there again. Whatever this returns, breakpoint_remove must follow. 0,
 * -ESRCH, -ETIME, -errno.
 */
int breakpoint_insert(const struct target *target, uint64_t address, bool software,
		      uint64_t deadline_ns, struct breakpoint *ret) _must_check_;
/* Did it stop because of it? It stands at address then. 1, 0, -errno. */
int breakpoint_hit(const struct target *target, const struct breakpoint *breakpoint,
		   const struct tracee_stop *stop) _must_check_;
/* 0, -errno. Of a stopped thread. */
int breakpoint_remove(const struct target *target, struct breakpoint *breakpoint) _must_check_;

#endif
