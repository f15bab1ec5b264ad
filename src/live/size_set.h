/* SPDX-License-Identifier: MIT */
/*
 * size_set.h - which sizes a site asked for, in 256 bits. A size that was never asked for looks so
 * as long as none shares its bit: those of some dozens of different sizes are told apart mostly,
 * and any two that are less than 256 bytes apart always. What was asked for is never denied.
 */
#ifndef MEMATTACH_SIZE_SET_H
#define MEMATTACH_SIZE_SET_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_SET_BITS 256u
/* Zeroed: empty. */
struct size_set {
	uint64_t word[SIZE_SET_BITS / 64];
};

/* Neighbours have bits of their own; sizes that are powers of two apart, too. */
static inline uint32_t size_set_bit(uint64_t size)
{
	return (uint32_t)(size + (size >> 8) * 37 + (size >> 16) * 101) % SIZE_SET_BITS;
}

static inline void size_set_add(struct size_set *set, uint64_t size)
{
	uint32_t bit = size_set_bit(size);

	set->word[bit / 64] |= 1ull << bit % 64;
}

static inline void size_set_merge(struct size_set *set, const struct size_set *more)
{
	for (uint32_t i = 0; i < SIZE_SET_BITS / 64; i++)
		set->word[i] |= more->word[i];
}

static inline bool size_set_is_empty(const struct size_set *set)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < SIZE_SET_BITS / 64; i++)
		any |= set->word[i];
	return any == 0;
}

/* False: no size in [low, high] was added. */
static inline bool size_set_may_have(const struct size_set *set, uint64_t low, uint64_t high)
{
	if (high - low >= SIZE_SET_BITS)
		return !size_set_is_empty(set);
	for (uint64_t size = low; size <= high && size >= low; size++) {
		uint32_t bit = size_set_bit(size);

		if (set->word[bit / 64] >> bit % 64 & 1)
			return true;
	}
	return false;
}

#endif
