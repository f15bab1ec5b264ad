/* SPDX-License-Identifier: MIT */
/*
 * test_estimate.c - weights, quantiles, and by simulation: the estimate is
 * unbiased and its 95 % interval covers the truth for at least 93 of 100 sites
 * that expect 5 samples or more, in all mixtures of sizes tried.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "src/base/cleanup.h"
#include "src/live/estimate.h"

#define ASSERT_NEAR(a, b, relative) assert_true(fabs((a) - (b)) <= (relative) * fabs(b))

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double uniform(uint64_t *state)
{
	return ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static void weight_is_inverse_probability(void **state)
{
	(void)state;
	assert_true(estimate_weight(100, 0) == 1.0);
	ASSERT_NEAR(estimate_weight(4096, 4096), 1 / (1 - exp(-1)), 1e-12);
	ASSERT_NEAR(estimate_weight(1, 1 << 20), 1048576.5, 1e-6);
	assert_true(estimate_weight(1 << 20, 4096) == 1.0);
	assert_true(estimate_weight(0, 4096) == estimate_weight(1, 4096));
	assert_true(estimate_weight(1, UINT64_MAX) <= 1099511627776.0);
}

/* An interval that no session has: a target may forge any. */
static void weighted_bytes_end_at_their_largest(void **state)
{
	(void)state;
	assert_true(estimate_term(1ull << 50, UINT64_MAX).weighted_bytes == 1ull << 63);
	assert_true(estimate_term((1ull << 56) - 1, UINT64_MAX).weighted_bytes == 1ull << 63);
}

static void certain_sums_are_integers(void **state)
{
	const uint64_t odd = (1ull << 53) + 1;
	struct estimate sum = { 0 };
	struct estimate_term term = estimate_term(odd, 0), small = estimate_term(3, 0);
	struct estimate_interval interval;

	(void)state;
	estimate_add(&sum, &term);
	estimate_add(&sum, &small);
	assert_int_equal(estimate_count(&sum), 2);
	assert_int_equal(estimate_bytes(&sum), odd + 3);
	estimate_remove(&sum, &term);
	assert_int_equal(estimate_bytes(&sum), 3);
	interval = estimate_bytes_interval(&sum, (struct estimate_unseen){ 0 });
	assert_true(interval.low >= 3 && interval.high <= 3);
}

/* Any sequence that takes away what was added leaves exactly nothing. */
static void sums_leave_no_trace(void **state)
{
	struct estimate sum = { 0 };
	struct estimate_term term[1000];
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(term); i++) {
		term[i] = estimate_term(next_random(&seed) % 100000,
					1 + next_random(&seed) % 65536);
		estimate_add(&sum, &term[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(term); i++)
		estimate_remove(&sum, &term[(i * 7) % ARRAY_SIZE(term)]);
	assert_int_equal(sum.samples, 0);
	assert_int_equal(sum.weighted_bytes, 0);
	assert_int_equal(sum.weighted_count, 0);
	assert_int_equal(sum.bytes, 0);
	assert_true(sum.variance_bytes == 0);
}

/* From tables of the chi-square distribution: quantile of 2 * shape degrees, halved. */
static void gamma_quantiles(void **state)
{
	(void)state;
	ASSERT_NEAR(estimate_gamma_quantile(0.025, 0.5), 0.000982069 / 2, 1e-5);
	ASSERT_NEAR(estimate_gamma_quantile(0.975, 0.5), 5.023886 / 2, 1e-6);
	ASSERT_NEAR(estimate_gamma_quantile(0.025, 1), 0.0253178, 1e-5);
	ASSERT_NEAR(estimate_gamma_quantile(0.975, 1), 3.6888795, 1e-7);
	ASSERT_NEAR(estimate_gamma_quantile(0.025, 5), 3.2469728 / 2, 1e-6);
	ASSERT_NEAR(estimate_gamma_quantile(0.975, 6), 23.336664 / 2, 1e-6);
	ASSERT_NEAR(estimate_gamma_quantile(0.975, 15), 46.979242 / 2, 1e-6);
	ASSERT_NEAR(estimate_gamma_quantile(0.025, 50), 74.221927 / 2, 1e-4);
	ASSERT_NEAR(estimate_gamma_quantile(0.975, 50), 129.561197 / 2, 1e-4);
	/* Over all shapes it rises and never leaves the numbers. */
	for (double shape = 0.01, last = 0; shape < 1e6; shape *= 1.07) {
		double x = estimate_gamma_quantile(0.975, shape);

		assert_true(isfinite(x) && x > last);
		last = x;
	}
}

static void nothing_seen_has_an_upper_bound(void **state)
{
	struct estimate sum = { 0 };
	struct estimate_interval interval =
		estimate_bytes_interval(&sum, (struct estimate_unseen){ .unit = 4096 });

	(void)state;
	assert_true(interval.low == 0 && interval.value == 0);
	ASSERT_NEAR(interval.high, 3.6888795 * 4096, 1e-6);
}

/* A mixture of sizes at one site. */
struct mixture {
	const char *name;
	uint64_t size[4];
	double share[4];	/* cumulative */
};

static const struct mixture mixtures[] = {
	{ "small", { 16 }, { 1 } },
	{ "page", { 4096 }, { 1 } },
	{ "large", { 20000 }, { 1 } },
	{ "small and large", { 24, 8000 }, { 0.99, 1 } },
	{ "wide", { 8, 128, 2048, 32768 }, { 0.6, 0.9, 0.99, 1 } },
	{ "rare giant", { 64, 1 << 20 }, { 0.9998, 1 } },
};

static uint64_t mixture_draw(const struct mixture *mixture, uint64_t *seed)
{
	double u = uniform(seed);
	size_t i = 0;

	while (mixture->share[i] < u && i < 3)
		i++;
	return mixture->size[i];
}

struct outcome {
	unsigned int sites, covered;
	double truth, estimate;
};

/*
 * One site: blocks until samples are expected, each drawn as the shim does, with
 * an interval that the controller doubles half-way; freed with probability freed.
 */
static void simulate_site(const struct mixture *mixture, double expected, double freed,
			  uint64_t *seed, struct outcome *outcome)
{
	struct estimate live = { 0 };
	struct estimate_interval interval;
	double truth = 0, expect = 0;

	while (expect < expected) {
		uint64_t rate = expect < expected / 2 ? 4096 : 8192;
		uint64_t size = mixture_draw(mixture, seed);
		struct estimate_term term = estimate_term(size, rate);
		double seen = 1 / estimate_weight(size, rate);
		bool sampled = uniform(seed) < seen, gone = uniform(seed) < freed;

		if (!gone) {
			expect += seen;
			truth += (double)size;
		}
		if (sampled)
			estimate_add(&live, &term);
		if (sampled && gone)
			estimate_remove(&live, &term);
	}
	interval = estimate_bytes_interval(&live, (struct estimate_unseen){ .unit = 8192 });
	outcome->sites++;
	outcome->covered += interval.low <= truth && truth <= interval.high;
	outcome->truth += truth;
	outcome->estimate += interval.value;
}

static void intervals_cover_the_truth(void **state)
{
	static const double expected[] = { 5, 8, 20, 100 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(mixtures); m++) {
		struct outcome all = { 0 };

		for (size_t e = 0; e < ARRAY_SIZE(expected); e++) {
			struct outcome one = { 0 };
			uint64_t seed = 12345 + m * 100 + e;

			for (int site = 0; site < 400; site++)
				simulate_site(&mixtures[m], expected[e], site % 2 ? 0.5 : 0, &seed,
					      &one);
			all.sites += one.sites;
			all.covered += one.covered;
			/* Unbiased: the sum over many sites is close. */
			ASSERT_NEAR(one.estimate, one.truth, 4 / sqrt(400 * expected[e]));
		}
		print_message("%-16s %u of %u covered\n", mixtures[m].name, all.covered, all.sites);
		assert_true(all.covered * 100 >= all.sites * 93);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weight_is_inverse_probability),
		cmocka_unit_test(weighted_bytes_end_at_their_largest),
		cmocka_unit_test(certain_sums_are_integers),
		cmocka_unit_test(sums_leave_no_trace),
		cmocka_unit_test(gamma_quantiles),
		cmocka_unit_test(nothing_seen_has_an_upper_bound),
		cmocka_unit_test(intervals_cover_the_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
