/* SPDX-License-Identifier: MIT */
/*
 * trend.h - does a level still rise at the end of the time in which it was looked at?
 *
 * For the snapshots of a recording. A trend is no verdict: it flags most caches while they fill
 * (docs/LEAKS.md). It takes one away: what has stopped rising is not growing.
 */
#ifndef MEMATTACH_LEAK_TREND_H
#define MEMATTACH_LEAK_TREND_H

#include <stdint.h>

#include "src/base/cleanup.h"

enum trend_verdict {
	TREND_UNKNOWN = 0,	/* looked at too rarely */
	TREND_FLAT,
	TREND_RISING,
};
/* Begin with trend_init. */
struct trend {
	double end;		/* of the time; it begins at 0 */
	double time, level;	/* the last */
	double floor[4];	/* the lowest level in each quarter */
	unsigned int quarter;	/* of time */
};

void trend_init(struct trend *trend, double end);
/* The level was that at time, and what it was before up to then. Times that go back are now. */
void trend_add(struct trend *trend, double time, double level);
/* After the last. looks: how often all of it was looked at. */
enum trend_verdict trend_judge(const struct trend *trend, uint64_t looks);

#endif
