/* SPDX-License-Identifier: MIT */
/* counter_bounds.c - see counter_bounds.h. Bounds are wide: none is ever met by a true figure. */
#include "src/watch/counter_bounds.h"

#include <math.h>

#define EVENTS_A_SECOND	1e13	/* 4096 processors, 0.4 ns an event */
#define SAMPLE_WEIGHT	1e6	/* events that a sample can stand for */
#define MOST_HIDDEN	0x1p53	/* blocks: documents have numbers up to there */
#define MOST_BYTES	0x1p53
#define THREADS		1e6	/* that wait at the same time */
#define EPOCH_SECONDS	0.1	/* well below the time after which an epoch lapses (deadline.c) */

static bool bound(uint64_t *counter, double most)
{
	if ((double)*counter <= most)
		return true;
	*counter = 0;
	return false;
}

bool counter_bounds_losses(struct reader_losses *losses, double seconds, double hz)
{
	const double events = (seconds + 1) * EVENTS_A_SECOND, ticks = (seconds + 1) * hz;
	bool whole = true;

	whole &= bound(&losses->alloc, events);
	whole &= bound(&losses->free, events);
	whole &= bound(&losses->map, events);
	whole &= bound(&losses->stack, events);
	whole &= bound(&losses->free_booked, events);
	whole &= bound(&losses->blocked, events);
	whole &= bound(&losses->table, events);
	whole &= bound(&losses->threads, events);
	whole &= bound(&losses->call, events);
	whole &= bound(&losses->hidden, fmin(events * SAMPLE_WEIGHT, MOST_HIDDEN));
	whole &= bound(&losses->alloc_bytes, MOST_BYTES);
	whole &= bound(&losses->hidden_bytes, MOST_BYTES);
	whole &= bound(&losses->blocked_ticks, ticks * THREADS);
	whole &= bound(&losses->spent_ticks, ticks * THREADS);
	return whole;
}

uint64_t counter_bounds_events(double seconds)
{
	return (uint64_t)fmin((seconds + 1) * EVENTS_A_SECOND, MOST_HIDDEN);
}

bool counter_bounds_epoch(uint64_t epoch, uint64_t before, double seconds)
{
	return epoch >= before && (double)(epoch - before) <= 1 + seconds / EPOCH_SECONDS;
}
