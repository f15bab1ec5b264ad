/* SPDX-License-Identifier: MIT */
/*
 * estimate.h - sums of sampled sizes, scaled to the truth, with an interval.
 *
 * A block of x bytes, drawn with mean interval I, was seen with probability
 * 1 - exp(-x/I) and stands for w = 1 / (1 - exp(-x/I)) blocks like it. Blocks
 * seen for certain (exact mode, or so large that w rounds to 1) are kept apart
 * as integers, so that an exact run is exact to the byte. The weighted sums are
 * fixed-point integers: adding a block and taking it away again leaves no trace.
 */
#ifndef MEMATTACH_ESTIMATE_H
#define MEMATTACH_ESTIMATE_H

#include <stdint.h>

/* Fractions of weighted_count and weighted_bytes. */
#define ESTIMATE_COUNT_ONE	65536.0
#define ESTIMATE_BYTES_ONE	256.0

/* What one block adds to a sum. */
struct estimate_term {
	uint64_t size;
	uint64_t weighted_count;	/* 0: certain */
	uint64_t weighted_bytes;
};
struct estimate {
	uint64_t count, bytes;		/* certain blocks */
	uint64_t samples;		/* uncertain ones */
	uint64_t sampled_bytes;		/* their own bytes, not scaled: surely there */
	uint64_t weighted_count;	/* sum of w, in 1 / ESTIMATE_COUNT_ONE */
	uint64_t weighted_bytes;	/* sum of w * x, in 1 / ESTIMATE_BYTES_ONE */
	double variance_bytes;		/* sum of w (w - 1) x^2 */
	double chance_bytes;		/* sum of (w - 1) x^2: its part that no sample can reduce */
	double variance_count;		/* sum of w (w - 1) */
	double chance_count;		/* sum of w - 1 */
};
struct estimate_interval {
	double value, low, high;
};
/*
 * What may have been missed although no sample says so, in bytes or in blocks. All 0: nothing, as
 * in exact mode.
 */
struct estimate_unseen {
	double unit;	/* what a sample that was not drawn could have stood for, at the most */
	double beyond;	/* all that passed where samples stand for more than that */
};

/* The weight w of a block of size bytes drawn with mean interval; 1 for interval 0. */
double estimate_weight(uint64_t size, uint64_t interval);
/* The term of such a block; interval is not 0. */
struct estimate_term estimate_term_drawn(uint64_t size, uint64_t interval);
/* The same for any interval. */
static inline struct estimate_term estimate_term(uint64_t size, uint64_t interval)
{
	return interval == 0 ? (struct estimate_term){ .size = size } :
			       estimate_term_drawn(size, interval);
}
/* What estimate_add and _remove do with a term that is not certain. */
void estimate_add_drawn(struct estimate *sum, const struct estimate_term *term);
void estimate_remove_drawn(struct estimate *sum, const struct estimate_term *term);
static inline void estimate_add(struct estimate *sum, const struct estimate_term *term)
{
	if (term->weighted_count) {
		estimate_add_drawn(sum, term);
		return;
	}
	sum->count++;
	sum->bytes += term->size;
}
/* pre: term was added before. */
static inline void estimate_remove(struct estimate *sum, const struct estimate_term *term)
{
	if (term->weighted_count) {
		estimate_remove_drawn(sum, term);
		return;
	}
	sum->count--;
	sum->bytes -= term->size;
}
/* Adds all of other. */
void estimate_merge(struct estimate *sum, const struct estimate *other);
/*
 * What of sum is not in part. pre: for its variances, part has been added to sum, term by term;
 * else they are the least that they can be, or 0.
 */
struct estimate estimate_without(const struct estimate *sum, const struct estimate *part);
/* The bytes in 1 / ESTIMATE_BYTES_ONE: the unit of peaks. */
static inline uint64_t estimate_level(const struct estimate *sum)
{
	return sum->bytes * (uint64_t)ESTIMATE_BYTES_ONE + sum->weighted_bytes;
}
/* Such a level rounded to bytes. */
uint64_t estimate_level_bytes(uint64_t level);
/* What a term adds to a count in 1 / ESTIMATE_COUNT_ONE, to a level. */
static inline uint64_t estimate_term_count(const struct estimate_term *term)
{
	return term->weighted_count ? term->weighted_count : (uint64_t)ESTIMATE_COUNT_ONE;
}
static inline uint64_t estimate_term_bytes(const struct estimate_term *term)
{
	return term->weighted_count ? term->weighted_bytes :
				      term->size * (uint64_t)ESTIMATE_BYTES_ONE;
}
/* Such a count rounded to blocks. */
static inline uint64_t estimate_level_count(uint64_t level)
{
	uint64_t one = (uint64_t)ESTIMATE_COUNT_ONE;

	return level / one + (level % one >= one / 2);
}
/* The sums, rounded to whole blocks and bytes. */
uint64_t estimate_count(const struct estimate *sum);
uint64_t estimate_bytes(const struct estimate *sum);
/* The 95 % interval of the bytes: Garwood's for the effective number of samples. */
struct estimate_interval estimate_bytes_interval(const struct estimate *sum,
						 struct estimate_unseen unseen);
/* The same of the number of blocks. */
struct estimate_interval estimate_count_interval(const struct estimate *sum,
						 struct estimate_unseen unseen);
/*
 * Such an interval, by what is known of a sum: seen for certain, estimated in all (not less than
 * that), and the variance of the estimate. tail: what is missed on either side.
 */
struct estimate_interval estimate_interval(double seen, double value, double variance,
					   struct estimate_unseen unseen, double tail);
#define ESTIMATE_TAIL	0.025	/* on either side of a 95 % interval */
/* -ln ESTIMATE_TAIL: of so many expected samples none is drawn with 2.5 % (docs/NUMBERS.md). */
#define ESTIMATE_NONE_SEEN 3.6889
/* Quantile p (0 < p < 1) of the gamma distribution with this shape (> 0) and scale 1. */
double estimate_gamma_quantile(double p, double shape);

#endif
