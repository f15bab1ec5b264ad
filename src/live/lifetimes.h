/* SPDX-License-Identifier: MIT */
/*
 * lifetimes.h - how long blocks lived: a histogram with 8 steps per doubling.
 *
 * A quantile is right to within 1/16 of its value; the maximum is exact. Memory
 * grows with the spread of lifetimes only (8 bytes a step).
 */
#ifndef MEMATTACH_LIFETIMES_H
#define MEMATTACH_LIFETIMES_H

#include <stdint.h>

#define LIFETIMES_STEPS 496u

/* A zeroed struct lifetimes is empty. */
struct lifetimes {
	double *bucket;		/* weights of steps first .. first + count - 1 */
	uint16_t first, count;
	uint64_t max;		/* ticks */
	double total;		/* sum of weights */
};

void lifetimes_done(struct lifetimes *lifetimes);
/* One block lived for ticks. Out of memory: only max and total know of it. */
void lifetimes_add(struct lifetimes *lifetimes, uint64_t ticks, double weight);
/*
 * The same, a few additions later: where there are many histograms, the step lies in no cache, and
 * is fetched meanwhile. What is to come is in later (zeroed: nothing), and the histogram without it
 * until lifetimes_settle(later), which has to come before it is merged, done or looked at.
 */
#define LIFETIMES_LATER	16u
struct lifetimes_later {
	struct { double *step, weight; } addition[LIFETIMES_LATER];
	unsigned int count;		/* that were ever made; the next takes the oldest's place */
};
void lifetimes_add_later(struct lifetimes *lifetimes, uint64_t ticks, double weight,
			 struct lifetimes_later *later);
void lifetimes_settle(struct lifetimes_later *later);
/* Weight in one step (0 to LIFETIMES_STEPS - 1, others are ignored); max is left alone. */
void lifetimes_add_step(struct lifetimes *lifetimes, unsigned int step, double weight);
/* Adds all of from, whose ticks are scale ticks each (right to a step); scale > 0. */
void lifetimes_merge(struct lifetimes *lifetimes, const struct lifetimes *from, double scale);
/* Ticks within which the fraction (0 to 1) of blocks ended; 0 when there was none. */
double lifetimes_quantile(const struct lifetimes *lifetimes, double fraction);
/* The middle of a step (lifetimes.first + i of bucket[i]), in ticks. */
double lifetimes_step_middle(unsigned int step);

#endif
