/* SPDX-License-Identifier: MIT */
/* leak_check.h - when a watched process is searched for leaks. */
#ifndef MEMATTACH_DAEMON_LEAK_CHECK_H
#define MEMATTACH_DAEMON_LEAK_CHECK_H

#include <stdint.h>
#include <time.h>

#include "src/base/cleanup.h"

#define LEAK_CHECK_TIMES	16u
#define LEAK_CHECK_LEAST	1.0	/* seconds from one to the next */

enum leak_check_kind {
	LEAK_CHECK_NEVER = 0,
	LEAK_CHECK_ON_GROWTH,	/* when an event of growth is told */
	LEAK_CHECK_EVERY,	/* so many seconds */
	LEAK_CHECK_AT,		/* times of the day */
};

struct leak_check {
	enum leak_check_kind kind;
	double every;
	uint32_t times;
	uint16_t minute[LEAK_CHECK_TIMES];	/* of the day, local time */
};

/* "never", "on-growth", "6h", "04:00 16:30". 0 or -EINVAL; to is set only on success. */
int leak_check_read(const char *value, struct leak_check *to) _must_check_;
/* Seconds from wall (CLOCK_REALTIME) until the next one; INFINITY: no time is set. */
double leak_check_next(const struct leak_check *check, time_t wall);

#endif
