/* SPDX-License-Identifier: MIT */
/* ticks.h - the time stamp counter that ring records carry, and its place in ordinary time. */
#ifndef MEMATTACH_TICKS_H
#define MEMATTACH_TICKS_H

#include <stdint.h>

#include "src/base/cleanup.h"

/* One instant on both clocks, and the counter's rate. */
struct ticks {
	uint64_t tsc0;		/* counter at the instant (usually: attach) */
	uint64_t ns0;		/* CLOCK_REALTIME at the instant, nanoseconds since 1970 */
	uint64_t raw0;		/* CLOCK_MONOTONIC_RAW at the instant, nanoseconds */
	double hz;		/* counts per second, > 0 */
};

/* The counter now. Later loads of this thread are not done before it is read. */
uint64_t ticks_now(void);
/*
 * Sets *ret to now, and its rate by comparing with CLOCK_MONOTONIC_RAW over about
 * milliseconds (< 1000; 10 gives 5 digits). 0, -EINVAL the counter stands still, -errno.
 */
int ticks_calibrate(unsigned int milliseconds, struct ticks *ret) _must_check_;
/* Moves the instant to now; the rate stays. */
void ticks_restart(struct ticks *ticks);
/* Corrects the rate from the time that passed since tsc0: call now and then. */
void ticks_refine(struct ticks *ticks);
/* Seconds from ticks->tsc0 to tsc; negative before it. */
double ticks_seconds(const struct ticks *ticks, uint64_t tsc);
/* Length of count counts in seconds. */
double ticks_span(const struct ticks *ticks, uint64_t count);
/* CLOCK_REALTIME of tsc in nanoseconds. */
uint64_t ticks_realtime_ns(const struct ticks *ticks, uint64_t tsc);

#endif
