/* SPDX-License-Identifier: MIT */
/* front_clock.h - the time of the fronts. */
#ifndef MEMATTACH_FRONT_CLOCK_H
#define MEMATTACH_FRONT_CLOCK_H

#include <time.h>

/* Seconds, by CLOCK_MONOTONIC. */
static inline double front_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
