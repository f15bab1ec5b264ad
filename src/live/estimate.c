/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - Horvitz-Thompson sums and their intervals.
 *
 * What was sampled is there for certain; in doubt is only what it stands for
 * beyond itself, U = sum (w - 1) x. The 95 % interval of U is Garwood's exact
 * Poisson interval at the effective number of samples n = U^2 / sum w (w - 1) x^2,
 * scaled back. Its upper end allows for one more sample than was seen, and not for an average one
 * but for the heaviest that there could have been: Fay and Feuer's for weighted sums of Poisson
 * counts (Statistics in Medicine 16, 1997, 791-801). With weights alike the two are the same; when
 * the interval has moved, a site whose samples all came while it was fine may well have missed
 * some while it was coarse. That bound holds only for whole weights: of an interval so coarse that
 * less passed than its samples stand for, all that passed is added instead (budget_unseen()).
 * The normal interval was rejected: it misses low for few samples. The bootstrap was rejected: it
 * needs every sample again for each report.
 * docs/NUMBERS.md derives the formulas; tests/unit/test_estimate.c simulates the coverage.
 *
 * The quantile of the gamma distribution is the Wilson-Hilferty cube for large
 * shapes (relative error below 1e-4 from 40 on), else Newton on the incomplete
 * gamma function: a table would have to be two-dimensional to serve p.
 */
#include "src/live/estimate.h"

#include <math.h>
#include <stddef.h>

#define WEIGHT_MAX		1099511627776.0	/* 2^40: its fixed-point form fits 64 bits */
#define WEIGHTED_BYTES_MAX	0x1p63
#define WEIGHTS_KEPT		256u
#define WILSON_HILFERTY_SHAPE	40.0

/* A request for 0 bytes is drawn like one for 1. pre: interval is not 0. */
static double find_weight(uint64_t size, uint64_t interval)
{
	double seen = -expm1(-(double)(size ? size : 1) / (double)interval);

	return fmin(1.0 / seen, WEIGHT_MAX);
}

/*
 * Programs ask for few sizes again and again, and expm1() was a tenth of what an event takes where
 * all of them are drawn.
 */
double estimate_weight(uint64_t size, uint64_t interval)
{
	static _Thread_local struct {
		uint64_t size, interval;
		double weight;
	} found[WEIGHTS_KEPT];
	size_t at = (size ^ size >> 8 ^ interval ^ interval >> 8) % WEIGHTS_KEPT;

	if (interval == 0)
		return 1.0;
	if (found[at].size != size || found[at].interval != interval) {
		found[at].size = size;
		found[at].interval = interval;
		found[at].weight = find_weight(size, interval);
	}
	return found[at].weight;
}

struct estimate_term estimate_term_drawn(uint64_t size, uint64_t interval)
{
	double weight = estimate_weight(size, interval);
	struct estimate_term term = { .size = size };

	if (weight > 1.0) {
		term.weighted_count = (uint64_t)(weight * ESTIMATE_COUNT_ONE + 0.5);
		/* An interval that a target forges may be of any length. */
		term.weighted_bytes = (uint64_t)fmin(
			weight * (double)size * ESTIMATE_BYTES_ONE + 0.5, WEIGHTED_BYTES_MAX);
	}
	return term;
}

static double term_weight(const struct estimate_term *term)
{
	return (double)term->weighted_count / ESTIMATE_COUNT_ONE;
}

static double term_chance(const struct estimate_term *term)
{
	return (term_weight(term) - 1.0) * (double)term->size * (double)term->size;
}

void estimate_add_drawn(struct estimate *sum, const struct estimate_term *term)
{
	sum->samples++;
	sum->sampled_bytes += term->size;
	sum->weighted_count += term->weighted_count;
	sum->weighted_bytes += term->weighted_bytes;
	sum->variance_bytes += term_weight(term) * term_chance(term);
	sum->chance_bytes += term_chance(term);
	sum->variance_count += term_weight(term) * (term_weight(term) - 1.0);
	sum->chance_count += term_weight(term) - 1.0;
}

/* The only sums that round: no residue may outlive its last sample. */
static void drop_residue(struct estimate *sum)
{
	if (sum->samples == 0 || sum->variance_bytes < 0 || sum->chance_bytes < 0)
		sum->variance_bytes = sum->chance_bytes = 0;
	if (sum->samples == 0 || sum->variance_count < 0 || sum->chance_count < 0)
		sum->variance_count = sum->chance_count = 0;
}

void estimate_remove_drawn(struct estimate *sum, const struct estimate_term *term)
{
	sum->samples--;
	sum->sampled_bytes -= term->size;
	sum->weighted_count -= term->weighted_count;
	sum->weighted_bytes -= term->weighted_bytes;
	sum->variance_bytes -= term_weight(term) * term_chance(term);
	sum->chance_bytes -= term_chance(term);
	sum->variance_count -= term_weight(term) * (term_weight(term) - 1.0);
	sum->chance_count -= term_weight(term) - 1.0;
	drop_residue(sum);
}

void estimate_merge(struct estimate *sum, const struct estimate *other)
{
	sum->count += other->count;
	sum->bytes += other->bytes;
	sum->samples += other->samples;
	sum->sampled_bytes += other->sampled_bytes;
	sum->weighted_count += other->weighted_count;
	sum->weighted_bytes += other->weighted_bytes;
	sum->variance_bytes += other->variance_bytes;
	sum->chance_bytes += other->chance_bytes;
	sum->variance_count += other->variance_count;
	sum->chance_count += other->chance_count;
}

/*
 * The fixed-point part of a difference must not be less than nothing: whole ones make up for it.
 * So it may be where sum was seen whole and part drawn. Less than nothing in all is nothing.
 */
static void borrow(uint64_t *whole, uint64_t *fraction, uint64_t one)
{
	uint64_t lacking = (0 - *fraction + one - 1) / one;

	if ((int64_t)*fraction >= 0)
		return;
	*fraction += lacking * one;
	if ((int64_t)*whole >= (int64_t)lacking)
		*whole -= lacking;
	else
		*whole = *fraction = 0;
}

struct estimate estimate_without(const struct estimate *sum, const struct estimate *part)
{
	struct estimate left = {
		.count = sum->count - part->count,
		.bytes = sum->bytes - part->bytes,
		.samples = sum->samples - part->samples,
		.sampled_bytes = sum->sampled_bytes - part->sampled_bytes,
		.weighted_count = sum->weighted_count - part->weighted_count,
		.weighted_bytes = sum->weighted_bytes - part->weighted_bytes,
		.variance_bytes = sum->variance_bytes - part->variance_bytes,
		.chance_bytes = sum->chance_bytes - part->chance_bytes,
		.variance_count = sum->variance_count - part->variance_count,
		.chance_count = sum->chance_count - part->chance_count,
	};

	drop_residue(&left);
	borrow(&left.count, &left.weighted_count, (uint64_t)ESTIMATE_COUNT_ONE);
	borrow(&left.bytes, &left.weighted_bytes, (uint64_t)ESTIMATE_BYTES_ONE);
	return left;
}

uint64_t estimate_count(const struct estimate *sum)
{
	uint64_t one = (uint64_t)ESTIMATE_COUNT_ONE;

	return sum->count + (sum->weighted_count + one / 2) / one;
}

uint64_t estimate_bytes(const struct estimate *sum)
{
	/* A level of all that was allocated may be too large. */
	return sum->bytes + estimate_level_bytes(sum->weighted_bytes);
}

uint64_t estimate_level_bytes(uint64_t level)
{
	uint64_t one = (uint64_t)ESTIMATE_BYTES_ONE;

	return level / one + (level % one >= one / 2);
}

/* What is known of a sum of anything: bytes, or blocks. */
struct known {
	double seen, unseen, variance, chance;
};

static struct estimate_interval interval_of(const struct known *known,
					    struct estimate_unseen missed, double tail)
{
	double unseen = known->unseen, n, low_shape, most, scale;
	struct estimate_interval ret = { known->seen, known->seen, known->seen + missed.beyond };

	if (known->variance <= 0 || unseen <= 0) {
		/* Nothing seen is what we would see with 2.5 % if 3.69 units were there. */
		ret.high += -log(tail) * missed.unit;
		return ret;
	}
	ret.value += unseen;
	n = unseen * unseen / known->variance;
	/* Blocks nearly all of which were seen: perhaps not one is missing. */
	low_shape = n - known->chance / known->variance;
	if (low_shape > 0)
		ret.low += unseen * estimate_gamma_quantile(tail, low_shape) / n;
	most = fmax(missed.unit, unseen / n);
	scale = (known->variance + most * most) / (unseen + most);
	ret.high += scale * estimate_gamma_quantile(1.0 - tail, (unseen + most) / scale);
	return ret;
}

struct estimate_interval estimate_bytes_interval(const struct estimate *sum,
						 struct estimate_unseen unseen)
{
	const struct known known = {
		.seen = (double)sum->bytes + (double)sum->sampled_bytes,
		.unseen = (double)sum->weighted_bytes / ESTIMATE_BYTES_ONE -
			  (double)sum->sampled_bytes,
		.variance = sum->variance_bytes, .chance = sum->chance_bytes,
	};

	return interval_of(&known, unseen, ESTIMATE_TAIL);
}

struct estimate_interval estimate_count_interval(const struct estimate *sum,
						 struct estimate_unseen unseen)
{
	const struct known known = {
		.seen = (double)sum->count + (double)sum->samples,
		.unseen = (double)sum->weighted_count / ESTIMATE_COUNT_ONE - (double)sum->samples,
		.variance = sum->variance_count, .chance = sum->chance_count,
	};

	return interval_of(&known, unseen, ESTIMATE_TAIL);
}

struct estimate_interval estimate_interval(double seen, double value, double variance,
					   struct estimate_unseen unseen, double tail)
{
	/* The part that is chance may be all of it. */
	const struct known known = { seen, value - seen, variance, variance };

	return interval_of(&known, unseen, tail);
}

/* Quantile of the standard normal distribution: Abramowitz and Stegun 26.2.23, error < 4.5e-4. */
static double normal_start(double p)
{
	double q = p < 0.5 ? p : 1.0 - p, t = sqrt(-2.0 * log(q)), z;

	z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			(1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
	return p < 0.5 ? -z : z;
}

/* The same, polished by one Newton step on erfc. */
static double normal_quantile(double p)
{
	double z = normal_start(p);
	double error = 0.5 * erfc(-z * M_SQRT1_2) - p;

	return z - error / (exp(-0.5 * z * z) * 0.5 * M_SQRT1_2 * M_2_SQRTPI);
}

/* Lower incomplete gamma function over the complete one, by its power series: for x < shape + 1. */
static double gamma_series(double shape, double x)
{
	double term = 1.0 / shape, sum = term;

	for (int i = 1; i < 500 && term > sum * 1e-14; i++) {
		term *= x / (shape + i);
		sum += term;
	}
	return sum * exp(shape * log(x) - x - lgamma(shape));
}

/* One minus it, by Lentz's continued fraction: for x >= shape + 1. */
static double gamma_fraction(double shape, double x)
{
	double b = x + 1.0 - shape, c = 1e300, d = 1.0 / b, h = d;

	for (int i = 1; i < 500; i++) {
		double a = -i * (i - shape), step;

		b += 2.0;
		d = 1.0 / (a * d + b);
		c = b + a / c;
		step = c * d;
		h *= step;
		if (fabs(step - 1.0) < 1e-14)
			break;
	}
	return h * exp(shape * log(x) - x - lgamma(shape));
}

static double gamma_probability(double shape, double x)
{
	return x < shape + 1.0 ? gamma_series(shape, x) : 1.0 - gamma_fraction(shape, x);
}

static double wilson_hilferty(double p, double shape)
{
	double s = 1.0 / (9.0 * shape), root = 1.0 - s + normal_quantile(p) * sqrt(s);

	return root > 0 ? shape * root * root * root : 0;
}

double estimate_gamma_quantile(double p, double shape)
{
	double x = wilson_hilferty(p, shape), low = 0, high = INFINITY;

	if (shape >= WILSON_HILFERTY_SHAPE)
		return x;
	/* Where the cube is no help, near 0 the distribution is p = x^shape / gamma(shape + 1). */
	if (x < 1e-3 * shape || shape < 0.3)
		x = exp((log(p) + lgamma(shape + 1.0)) / shape);
	for (int i = 0; i < 100; i++) {
		double error = gamma_probability(shape, x) - p, next;
		double density = exp((shape - 1.0) * log(x) - x - lgamma(shape));

		if (error < 0)
			low = x;
		else
			high = x;
		next = density > 0 ? x - error / density : -1.0;
		/* Newton within the bracket, halving (or doubling) where it leaves it. */
		if (!(next > low && next < high))
			next = isinf(high) ? 2.0 * x : 0.5 * (low + high);
		if (fabs(next - x) <= 1e-10 * x)
			return next;
		x = next;
	}
	return x;
}
