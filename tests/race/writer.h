/* SPDX-License-Identifier: MIT */
/*
 * writer.h - the shim's side of ring_races.c, apart from it: its headers poison what libc has.
 */
#ifndef MEMATTACH_RACE_WRITER_H
#define MEMATTACH_RACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/abi/ring_abi.h"

struct race_record {
	uint64_t address, size, thread, caller;
};

/* From now on this is the shim's control block. */
void race_arm(struct ring_control *control);
/* RING_ALLOC takes two lines, RING_FREE one. As shim_record(). */
bool race_write(struct ring_control *control, enum ring_kind kind, struct race_record record);

/* The test's: how often a shared word was written; waits until it is more often, or time passes. */
uint64_t race_written(void);
void race_await(uint64_t seen);

#endif
