/* SPDX-License-Identifier: MIT */
/*
 * counter_bounds.h - what counters in shared memory can't say.
 *
 * The target's own code may write there: a memory error of its own does so by chance. A counter of
 * events can't have grown faster than processors count, nor one of time faster than time.
 */
#ifndef MEMATTACH_SESSION_COUNTER_BOUNDS_H
#define MEMATTACH_SESSION_COUNTER_BOUNDS_H

#include "src/ring/reader.h"

/*
 * seconds: since the counters were 0; hz: of TSC ticks. What can't be becomes 0. True: nothing had
 * to; else other figures may be wrong, too.
 */
bool counter_bounds_losses(struct reader_losses *losses, double seconds, double hz);
/* So many events can have been at the most. */
uint64_t counter_bounds_events(double seconds);
/* Can there be so many epochs, seconds after the begin, of which before had been seen already? */
bool counter_bounds_epoch(uint64_t epoch, uint64_t before, double seconds);

#endif
