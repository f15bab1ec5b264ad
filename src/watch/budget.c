/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h.
 *
 * What is paid has two parts. Hooks that record nothing, records of mappings and our idle
 * processes cost what they cost. The rest is proportional to the number of drawn blocks, which
 * the interval decides: a block of x bytes is drawn with probability 1 - exp(-x / I). So from the
 * cost of a record and from how many there had been if every block was drawn follows the fraction
 * that can be paid for, and the interval that draws it as if all blocks were of the one size that
 * would have been drawn as often as these were. What the model gets wrong (sizes that are not
 * alike, a burst within a step) shows as credit or debt, and is made good over the next seconds.
 *
 * Time is the target's own: a program that sleeps for a while between two bursts meets the second
 * with the interval that the first one taught. A target that hardly runs is treated as if it used
 * a twentieth of a processor, or its budget would be nothing. A rise counts at once, a fall with
 * the mean of the last half second. Where hooks alone use up the budget, records get an eighth of
 * it: else there would be no figures at all.
 *
 * Records that come after a change of the interval may have been drawn before it: what they say
 * about the target follows from the interval that they name, not from the present one.
 *
 * Nothing here can bias an estimate: the shim draws anew when the interval changes, and each record
 * says with which one it was drawn (inject/shim/sample.c).
 *
 * Rejected: a proportional controller on the measured share alone. It needs several steps for
 * every rise of the load, and winds up while the target is idle.
 */
#include "src/watch/budget.h"

#include <math.h>
#include <stdbool.h>

#include "inject/abi/ring_abi.h"

#define MEMORY		0.5	/* seconds of use */
#define REPAY		5.0	/* seconds of use in which debt is made good, credit used */
#define MOST_CREDIT	1.0	/* seconds of use whose budget may be saved */
#define MOST_DEBT	10.0
#define IDLE_WEIGHT	0.1	/* of a step in which nothing was seen, in what is remembered */
#define LEAST_SHARE	0.125	/* of the budget, for records in any case */
#define FIRST_COST	3e-6	/* seconds for a record, until it is known better */
#define FIRST_COSTED	50.0
#define COST_RECORDS	300.0	/* that the cost of one is the mean of */
#define MANY		20u	/* records that say something about a single step */
#define DEAD_BAND	0.2	/* smaller changes are not worth the threads' new count-downs */
#define WIDEN_MOST	16.0	/* in one step */
#define NARROW_MOST	0.5
#define WIDEST		268435456.0

void budget_begin(struct budget *b, double percent)
{
	*b = (struct budget){
		.share = percent / 100.0,
		.cost = FIRST_COST * FIRST_COSTED,
		.costed = FIRST_COSTED,
	};
}

void budget_set(struct budget *b, double percent)
{
	double share = percent / 100.0;

	b->credit *= share / b->share;
	b->share = share;
}

static double use_of(double wall, double target)
{
	return fmax(target, BUDGET_LEAST_USE * wall);
}

double budget_quota(const struct budget *b, double wall, double target)
{
	double fixed = b->memory.use > 0 ? b->memory.fixed / b->memory.use : 0;

	return fmax(b->share - fixed, b->share * LEAST_SHARE) * use_of(wall, target);
}

/* How many of all blocks were drawn. */
static double drawn_fraction(const struct budget_input *in)
{
	if (!(in->interval > 1) || in->calls <= 0 || in->allocs == 0)
		return 1.0;
	return fmin((double)in->allocs / in->calls, 1.0 - 1e-9);
}

/* The size of which as many would have been drawn, if all were of one. */
static double size_for(const struct budget_input *in, double fraction)
{
	if (in->allocs == 0 || in->calls <= 0)
		return 0;
	return in->interval > 1 ? -log1p(-fraction) * in->interval : in->bytes / in->calls;
}

static void learn_cost(struct budget *b, const struct budget_input *in)
{
	double count = (double)in->drawn + (double)in->certain;
	double keep = exp(-count / COST_RECORDS);

	b->cost = b->cost * keep + in->records;
	b->costed = b->costed * keep + count;
}

static void remember(struct budget_memory *m, const struct budget_memory *step, double weight)
{
	double keep = exp(-step->use * weight / MEMORY);

	m->use = m->use * keep + step->use * weight;
	m->whole = m->whole * keep + step->whole * weight;
	m->fixed = m->fixed * keep + step->fixed * weight;
	m->calls = m->calls * keep + step->calls * weight;
	m->bytes = m->bytes * keep + step->bytes * weight;
}

static double mean_size(const struct budget_memory *m)
{
	return m->calls > 0 ? fmax(m->bytes / m->calls, 1.0) : 1.0;
}

/* Seconds for records, per second of use. */
static double allowance(const struct budget *b)
{
	double quota = budget_quota(b, 0, 1);

	return fmin(fmax(quota + b->credit / REPAY, b->share * LEAST_SHARE), 2.0 * quota);
}

static void keep_account(struct budget *b, double quota, double paid)
{
	b->credit = fmin(b->credit + quota - paid, b->share * MOST_CREDIT);
	b->credit = fmax(b->credit, -b->share * MOST_DEBT);
}

/* The interval that draws this fraction of blocks of that mean size; 1: every one. */
static double interval_for(double fraction, double size)
{
	if (fraction >= 1.0)
		return 1.0;
	return fmin(fmax(-size / log1p(-fraction), 1.0), WIDEST);
}

/*
 * A burst meets one interval after the other, each of which may miss all that passed: it is their
 * sum that counts. The split into the two parts is the one that encloses least where nothing was
 * drawn; it follows from what passed alone, so that chance has no part in it.
 */
struct estimate_unseen budget_unseen(const struct budget *b, uint64_t interval)
{
	struct estimate_unseen ret = { 0 };
	double beyond = 0, least = INFINITY;

	for (unsigned int i = BUDGET_STRATA; i-- > 0;) {
		double unit = fmax((double)b->stratum[i].interval, (double)interval);

		if (b->stratum[i].bytes <= 0)
			continue;
		if (beyond + ESTIMATE_NONE_SEEN * unit < least) {
			least = beyond + ESTIMATE_NONE_SEEN * unit;
			ret = (struct estimate_unseen){ unit, beyond };
		}
		beyond += b->stratum[i].bytes;
	}
	return beyond <= least ? (struct estimate_unseen){ .beyond = beyond } : ret;
}

void budget_note_passed(struct budget *b, double bytes)
{
	unsigned int i = b->interval > 1 ? 63u - (unsigned int)__builtin_clzll(b->interval) : 0;
	struct budget_stratum *stratum = &b->stratum[i < BUDGET_STRATA ? i : BUDGET_STRATA - 1];

	if (b->interval > stratum->interval)
		stratum->interval = b->interval;
	stratum->bytes += fmax(bytes, 0);
}

/* From the present interval towards the wanted one. */
static uint64_t move(const struct budget *b, double wanted)
{
	double now = (double)b->interval;

	if (b->interval <= 1)
		return wanted < 2.0 ? b->interval : (uint64_t)wanted;
	if (fabs(wanted - now) < DEAD_BAND * now)
		return b->interval;
	return (uint64_t)fmax(fmin(fmax(wanted, now * NARROW_MOST), now * WIDEN_MOST), 1.0);
}

static double least_when_crowded(uint64_t interval)
{
	return fmin(fmax(2.0 * (double)interval, (double)BUDGET_FIRST_INTERVAL), WIDEST);
}

uint64_t budget_step(struct budget *b, const struct budget_input *in)
{
	struct budget_memory step = {
		.use = use_of(in->wall, in->target), .calls = in->calls,
	};
	double fraction = drawn_fraction(in), each, rate, wanted = (double)b->interval;
	bool idle = in->drawn == 0 && step.use > in->target;

	if (step.use <= 0)
		return b->interval;
	learn_cost(b, in);
	each = b->cost / b->costed;
	step.whole = (double)in->drawn / fraction;
	step.bytes = size_for(in, fraction) * in->calls;
	step.fixed = in->fixed + each * (double)in->certain;
	remember(&b->memory, &step, idle ? IDLE_WEIGHT : 1.0);
	keep_account(b, budget_quota(b, in->wall, in->target),
		     in->records - fmin(each * (double)in->certain, in->records));
	rate = b->memory.use > 0 ? b->memory.whole / b->memory.use : 0;
	if (in->allocs >= MANY)		/* all of it that can't be chance */
		rate = fmax(rate, step.whole / step.use * (1 - 2 / sqrt((double)in->allocs)));
	if (rate > 0)
		wanted = interval_for(allowance(b) / (rate * each), mean_size(&b->memory));
	if (in->crowded)
		wanted = fmax(wanted, least_when_crowded(b->interval));
	b->interval = ring_interval_round(move(b, wanted));
	return b->interval;
}
