/* SPDX-License-Identifier: MIT */
/*
 * exponential.c - the logarithm behind exponential distances, in integers.
 *
 * Rejected: a table with interpolation (2 KiB, and its relative error is worst
 * near u = 1, where it decides about small blocks); floating point (the shim may
 * not touch those registers).
 */
#include "inject/shim/exponential.h"

#include "inject/arch/x86_64/shim_arch.h"

#define LN2_58		199786072581291494ull	/* ln 2 * 2^58 */
#define SQRT2_63	13043817825332782212ull	/* sqrt 2 * 2^63 */

static uint64_t multiply_high(uint64_t a, uint64_t b)
{
	return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

/*
 * ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 ...), s < 0.172 in units of 2^-64:
 * terms to s^11 leave 2e-11, relative to the result.
 */
static uint64_t twice_artanh(uint64_t s)
{
	uint64_t s2 = multiply_high(s, s);
	uint64_t sum = UINT64_MAX / 11;

	for (uint64_t n = 9; n >= 3; n -= 2)
		sum = UINT64_MAX / n + multiply_high(s2, sum);
	return 2 * (s + multiply_high(s, multiply_high(s2, sum)));
}

/* difference / (2 * half_sum), in units of 2^-64. */
static uint64_t ratio(uint64_t difference, uint64_t half_sum)
{
	return arch_divide(difference >> 1, difference << 63, half_sum);
}

/*
 * u = m / 2^k with m in [sqrt(1/2), sqrt 2): -ln u = k ln 2 - ln m, and
 * ln m = +-2 artanh(s), s = |m - 1| / (m + 1). Exact near u = 1 too, where the
 * small distances are that decide about small blocks.
 */
uint64_t shim_exponential(uint64_t random)
{
	uint64_t u = random ? random : 1;
	uint64_t k = (uint64_t)__builtin_clzll(u);
	uint64_t norm = u << k;		/* u = norm / 2^(64 + k) */

	if (norm >= SQRT2_63)		/* m = norm / 2^64 < 1 */
		return k * LN2_58 + (twice_artanh(ratio(0 - norm, norm / 2 + (1ull << 63))) >> 6);
	/* m = norm / 2^63 >= 1 */
	return (k + 1) * LN2_58 -
	       (twice_artanh(ratio(norm - (1ull << 63), norm / 2 + (1ull << 62))) >> 6);
}
