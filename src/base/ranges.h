/* SPDX-License-Identifier: MIT */
/* ranges.h - a set of address ranges: what is heap, what is an allocator's own. */
#ifndef MEMATTACH_LEAK_RANGES_H
#define MEMATTACH_LEAK_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct range {
	uint64_t low, high;	/* high exclusive */
};
/* Sorted and disjoint after ranges_normalize. Zeroed: empty. */
struct ranges {
	size_t count, room;
	struct range *range;	/* owned */
};

/* 0, -EINVAL (low >= high), -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t low, uint64_t high) _must_check_;
/* Sorts, and joins what overlaps or touches. Before any of the calls below. */
void ranges_normalize(struct ranges *ranges);
/* The first range that ends above address, NULL: none. It need not hold the address. */
const struct range *ranges_at_or_above(const struct ranges *ranges, uint64_t address);
bool ranges_contain(const struct ranges *ranges, uint64_t address);
/*
 * What is left of [low, high) without the ranges: calls each for every piece, in
 * order, until it returns not 0, which is then the result.
 */
int ranges_outside(const struct ranges *ranges, uint64_t low, uint64_t high,
		   int (*each)(void *context, uint64_t low, uint64_t high), void *context);
void ranges_done(struct ranges *ranges);

#endif
