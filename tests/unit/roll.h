/* SPDX-License-Identifier: MIT */
/* roll.h - dice for tests: the same numbers in each run (xorshift64). */
#ifndef MEMATTACH_TESTS_ROLL_H
#define MEMATTACH_TESTS_ROLL_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252ull;

/* From 0 to below - 1. */
static inline uint64_t roll(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

#endif
