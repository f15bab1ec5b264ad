/* SPDX-License-Identifier: MIT */
/*
 * hook_cost.h - what hooks add to calls of which nothing is recorded, on this machine.
 *
 * For the analyst: nobody counts those calls and nobody times them, so they are estimated from
 * samples and multiplied by this.
 */
#ifndef MEMATTACH_HOOK_COST_H
#define MEMATTACH_HOOK_COST_H

/* What is taken where it can't be measured. */
#define HOOK_COST_USUAL 5e-9

/*
 * Seconds that an allocation and its free take longer while hooked and not sampled, with
 * everything in the nearest cache. Takes a few tenths of a millisecond.
 */
double hook_cost_measure(void);

#endif
