/* SPDX-License-Identifier: MIT */
/*
 * steps.h - numbered points between two changes to a target.
 *
 * In a build with --enable-step-counter the process kills itself with SIGKILL
 * at the point whose number is in MEMATTACH_KILL_STEP, so that the tests can
 * die between any two changes. In every other build a point is nothing.
 */
#ifndef MEMATTACH_STEPS_H
#define MEMATTACH_STEPS_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef MEMATTACH_TEST_STEPS
/* Counts one point; never returns from the one that was asked for. */
void step_point(void);
#else
static inline void step_point(void) {}
#endif

#endif
