/* SPDX-License-Identifier: MIT */
/*
 * steps.h - numbered points between two changes to a target, and numbered calls in it.
 *
 * In a build with --enable-step-counter the process kills itself with SIGKILL
 * at the point whose number is in MEMATTACH_KILL_STEP, so that the tests can
 * die between any two changes; and of the calls that borrowed threads of a target are to make, the
 * one whose number is in MEMATTACH_REFUSE_CALL is not made and fails, which is said on stderr.
 * In every other build a point is nothing, and a call itself.
 */
#ifndef MEMATTACH_STEPS_H
#define MEMATTACH_STEPS_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>

#ifdef MEMATTACH_TEST_STEPS
/* Counts one point; never returns from the one that was asked for. */
void step_point(void);
/* The number of the system call to make: this one, or that of none, which is -ENOSYS. */
long step_call(long number);
/* The function to call: this one, or nothing, the address of a `ret`, which is its failure. */
uint64_t step_function(uint64_t function, uint64_t nothing);
#else
static inline void step_point(void) {}
static inline long step_call(long number) { return number; }
static inline uint64_t step_function(uint64_t function, uint64_t nothing)
{
	(void)nothing;
	return function;
}
#endif

#endif
