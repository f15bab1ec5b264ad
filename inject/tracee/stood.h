/* SPDX-License-Identifier: MIT */
/*
 * stood.h - since when a thread that was asked to stop has stood still. On a busy machine it
 * first waits for a processor, as it would have without us.
 */
#ifndef MEMATTACH_STOOD_H
#define MEMATTACH_STOOD_H

#include <stdint.h>
#include <sys/types.h>

struct stood {
	pid_t pid, tid;
	uint64_t asked_ns;	/* CLOCK_MONOTONIC */
	uint64_t waited_ns;	/* for a processor, in its life; UINT64_MAX: not to be had */
};

/* Before it is interrupted. */
void stood_ask(struct stood *stood, pid_t pid, pid_t tid);
/*
 * Once it has stopped: CLOCK_MONOTONIC, never later than it did, by what it ran on at the
 * most; when it was asked, where the kernel does not count.
 */
uint64_t stood_since(const struct stood *stood);

#endif
