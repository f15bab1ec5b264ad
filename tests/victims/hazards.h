/* SPDX-License-Identifier: MIT */
/*
 * hazards.h - programs on which a walk of the stack goes wrong if it is made a little wrong.
 *
 * Each group of hazards does its work and says, for each function under which it allocates, how
 * often: exactly so many allocations a report must show there. hazards.c has the groups.
 */
#ifndef MEMATTACH_TESTS_HAZARDS_H
#define MEMATTACH_TESTS_HAZARDS_H

#include <stdlib.h>

#include "tests/victims/victim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block that lives for an instant, got by the function that this stands in. */
#define HAZARD_ALLOC(bytes) free(victim_seen(malloc(victim_size(bytes))))

/* A value that the compiler knows nothing about; written to by what is not to be a tail call. */
extern volatile int hazard_sink;

/* Says that function allocated (or mapped) so often, all calls of this together. */
void hazard_did(const char *function, unsigned long times);

/* Frames that need more than rsp to be left. */
void hazard_frames(void);
/* Return addresses of calls that are over; says who is misled by them. */
void hazard_stale(void);
/* Signals, coroutines. */
void hazard_stacks(void);
/* Stacks that go and come back; fork, vfork. */
void hazard_threads(void);
/* Code in anonymous memory. */
void hazard_jit(void);
/* Libraries that are deleted when they are open; lazy binding. */
void hazard_plugs(const char *directory);
/* C++ exceptions. */
void hazard_throws(void);

#ifdef __cplusplus
}
#endif
#endif
