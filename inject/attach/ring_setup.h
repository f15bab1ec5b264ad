/* SPDX-License-Identifier: MIT */
/* ring_setup.h - sizes and first contents of the shared memory. */
#ifndef MEMATTACH_RING_SETUP_H
#define MEMATTACH_RING_SETUP_H

#include "inject/attach/attachment.h"

#define RING_MAX_TOTAL_BYTES (1ull << 30)	/* that may be asked for */

/*
 * Geometry for total_bytes (rounded down to fit) on a machine of cpus; sampled: the table is
 * of addresses, else of bits.
 */
struct ring_geometry ring_setup_geometry(uint64_t total_bytes, unsigned int cpus, bool sampled);
/*
 * Adds what recognition of stacks needs: RING_RECOGNITION_BYTES, of which memory is taken only
 * for the rules, threads and paths that there are.
 */
void ring_setup_recognition(struct ring_geometry *geometry);
#define RING_RULES_BYTES	(28ull << 20)
#define RING_SEEN_SLOTS		(1ull << 19)
#define RING_SHADOW_SLOTS	256ull
#define RING_RECOGNITION_BYTES	(RING_RULES_BYTES + RING_SEEN_SLOTS * sizeof(uint64_t) + \
				 RING_SHADOW_SLOTS * RING_SHADOW_BYTES)
/* Fills a zeroed control block. The mode stays RING_MODE_OFF and the deadline 0. */
void ring_setup_control(struct ring_control *control, const struct ring_geometry *geometry);
/* Current time stamp counter; its rate in Hz, measured once against CLOCK_MONOTONIC. */
uint64_t ring_setup_tsc(void);
uint64_t ring_setup_tsc_hz(void);

#endif
