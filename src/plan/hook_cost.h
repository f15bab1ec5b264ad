/* SPDX-License-Identifier: MIT */
/*
 * hook_cost.h - what hooks add to calls of which nothing is recorded, on this machine.
 *
 * For the analyst: nobody counts those calls and nobody times them, so they are estimated from
 * samples and multiplied by this.
 */
#ifndef MEMATTACH_HOOK_COST_H
#define MEMATTACH_HOOK_COST_H

#include "inject/attach/hook_plan.h"

/* What is taken where it can't be measured. */
#define HOOK_COST_USUAL 5e-9
#define HOOK_COST_KEEPING_USUAL 8e-8

/*
 * Seconds that an allocation and its free take longer while hooked and not sampled, with
 * everything in the nearest cache.
 */
struct hook_cost {
	double pair;
	double keeping;		/* by hooks that keep all registers (hook_family.keeps_registers) */
	double custom;		/* of functions that the user has named */
};

/* Takes a few tenths of a millisecond. */
struct hook_cost hook_cost_measure(void);
/* Of the malloc that all but a few calls go to: plan's first. */
double hook_cost_pair(const struct hook_cost *cost, const struct hook_plan *plan);

#endif
