/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how finely may be sampled? From what it has cost to the next mean interval.
 *
 * Nothing here reads a clock, or the target: what was measured goes in, an interval comes out.
 */
#ifndef MEMATTACH_BUDGET_H
#define MEMATTACH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "src/live/estimate.h"

#define BUDGET_LEAST_USE 0.05	/* processors that a target uses at least, for its budget */
#define BUDGET_FIRST_INTERVAL 512u	/* bytes; the finest when the reader falls behind */

/* What was measured since the last step. Seconds are of processor time, but for wall. */
struct budget_input {
	double wall;		/* seconds that went by */
	double target;		/* the target's own, all threads: without our part of it */
	double fixed;		/* cost that no interval changes: hooks, our idle processes */
	double records;		/* cost of making records and booking them */
	uint64_t drawn;		/* records of drawn blocks: allocations, their frees */
	uint64_t allocs;	/* of them: allocations */
	uint64_t certain;	/* other records: mappings */
	double interval;	/* mean of those that the allocations were drawn with, bytes */
	double calls, bytes;	/* allocations and what they asked for, estimated from those */
	bool crowded;		/* the reader has fallen behind */
};

/* Sums that forget: what happened a while ago counts less. */
struct budget_memory {
	double use;		/* seconds of the target's use of processors */
	double whole;		/* records there had been if every block was drawn */
	double fixed, calls;
	double bytes;		/* as if blocks were of one size */
};

/* Intervals of one power of two: the largest of them, and what passed count-downs meanwhile. */
struct budget_stratum {
	uint64_t interval;
	double bytes;
};
#define BUDGET_STRATA 32u

struct budget {
	double share;		/* of the target's own time that may be spent */
	uint64_t interval;	/* bytes, the present mean; 0: every allocation */
	double credit;		/* seconds that were saved; negative: that are to be saved */
	double cost, costed;	/* seconds that so many records took lately */
	struct budget_memory memory;
	struct budget_stratum stratum[BUDGET_STRATA];
};

/* percent: of the target's own time. Begins with every allocation. */
void budget_begin(struct budget *budget, double percent);
/* Another percentage from now on. What was saved or overspent counts as much in the new one. */
void budget_set(struct budget *budget, double percent);
/* The mean sampling interval from now on, in bytes; 0: every allocation. */
uint64_t budget_step(struct budget *budget, const struct budget_input *input);
/* So many bytes more were asked for in the present interval (ring_threads_passed). */
void budget_note_passed(struct budget *budget, double bytes);
/*
 * How many bytes may no sample stand for? Of the coarsest intervals, where so little passed that
 * they can't have missed a sample's worth, all that passed; of the others, what the coarsest of
 * them is. interval: the present one, where no budget moves it; else 0.
 */
struct estimate_unseen budget_unseen(const struct budget *budget, uint64_t interval);
/*
 * What may be spent on records within wall seconds in which the target ran for target ones: who
 * has spent more needs not wait for the end of a step.
 */
double budget_quota(const struct budget *budget, double wall, double target);

#endif
