/* SPDX-License-Identifier: MIT */
/* snapshot_rates.h - how fast a process allocates and frees now: in the last interval. */
#ifndef MEMATTACH_SNAPSHOT_RATES_H
#define MEMATTACH_SNAPSHOT_RATES_H

#include "src/live/snapshot.h"

/* A second. low and high: ends of the 95 % interval; the same as value: exact, or not known. */
struct snapshot_rate {
	double value, low, high;
};
struct snapshot_rates {
	struct snapshot_rate allocs, frees, bytes;
};
/* Of the last interval; of the whole session before its first one is over. */
struct snapshot_rates snapshot_rates(const struct snapshot *snapshot);
/* Allocations a second on average since the session began; 0 if no time has passed. */
double snapshot_rate_on_average(const struct snapshot *snapshot);

#endif
