/* SPDX-License-Identifier: MIT */
/*
 * ticks.c - the time stamp counter and what it means.
 *
 * The rate is measured against CLOCK_MONOTONIC_RAW, not taken from the kernel's
 * log or from CPUID leaf 0x15: both are absent in many virtual machines. A few
 * milliseconds at the start give enough digits for the first report, and every
 * later ticks_refine() divides a longer span. Real time is only an anchor, so
 * that a clock that is stepped meanwhile can't bend durations.
 */
#include "src/base/ticks.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

#define NS_PER_SECOND 1000000000ull
#define TRIES 16u
#define NARROW_NS 2000u

uint64_t ticks_now(void)
{
	uint64_t now = __rdtsc();

	/* rdtsc may be overtaken by later loads: the ring heads must be read after it. */
	_mm_lfence();
	return now;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/*
 * Both clocks at one moment. We may have to wait for a CPU between two reads: then once more, and
 * the pair that lay closest together counts.
 */
static uint64_t read_both(uint64_t *ret_raw)
{
	uint64_t narrowest = UINT64_MAX, ret = 0;

	for (unsigned int i = 0; i < TRIES && narrowest > NARROW_NS; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW), tsc = ticks_now();
		uint64_t width = clock_ns(CLOCK_MONOTONIC_RAW) - before;

		if (width >= narrowest)
			continue;
		narrowest = width;
		*ret_raw = before + width / 2;
		ret = tsc;
	}
	return ret;
}

void ticks_restart(struct ticks *ticks)
{
	ticks->tsc0 = read_both(&ticks->raw0);
	ticks->ns0 = clock_ns(CLOCK_REALTIME);
}

/* False: one of the clocks stands still. */
static bool ticks_measure(struct ticks *ticks)
{
	uint64_t raw = 0, tsc = read_both(&raw);

	if (tsc <= ticks->tsc0 || raw <= ticks->raw0)
		return false;
	ticks->hz = (double)(tsc - ticks->tsc0) * (double)NS_PER_SECOND /
		    (double)(raw - ticks->raw0);
	return true;
}

int ticks_calibrate(unsigned int milliseconds, struct ticks *ret)
{
	struct timespec pause = { 0, (long)(milliseconds % 1000u) * 1000000l };
	struct ticks ticks;

	ticks_restart(&ticks);
	nanosleep(&pause, NULL);
	if (!ticks_measure(&ticks))
		return -EINVAL;
	*ret = ticks;
	return 0;
}

void ticks_refine(struct ticks *ticks)
{
	ticks_measure(ticks);
}

double ticks_span(const struct ticks *ticks, uint64_t count)
{
	return (double)count / ticks->hz;
}

double ticks_seconds(const struct ticks *ticks, uint64_t tsc)
{
	if (tsc < ticks->tsc0)
		return -ticks_span(ticks, ticks->tsc0 - tsc);
	return ticks_span(ticks, tsc - ticks->tsc0);
}

uint64_t ticks_realtime_ns(const struct ticks *ticks, uint64_t tsc)
{
	double ns = ticks_seconds(ticks, tsc) * (double)NS_PER_SECOND;

	return ticks->ns0 + (uint64_t)(int64_t)ns;
}
