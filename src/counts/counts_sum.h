/* SPDX-License-Identifier: MIT */
/*
 * counts_sum.h - the sums of the counters that the shim keeps in RING_MODE_COUNT (docs/COUNTS.md).
 *
 * Nothing in the shared memory is believed to be more than numbers: tables are read up to the
 * size that they were made with, and what a path is called is looked up elsewhere.
 */
#ifndef MEMATTACH_COUNTS_H
#define MEMATTACH_COUNTS_H

#include "inject/abi/counts_abi.h"
#include "src/base/cleanup.h"

/* Calls that succeeded, since the attach. */
struct counts_sums {
	struct counts_totals totals;
	struct counts_rest sizes_left;	/* of sizes that found no room */
	struct counts_rest paths_left;	/* of call paths that found no room */
	uint64_t shared_count;		/* allocations by threads without counters of their own */
};

/* A call path and a step of sizes. */
struct counts_row {
	uint64_t path;		/* its name; by_caller: the return address of the call */
	bool by_caller;
	uint32_t step;		/* counts_step() */
	uint64_t count, bytes;
	/* The caller's own: 0 at first, and kept from reading to reading. */
	uint64_t booked;
	uint32_t mark;
	bool added;		/* by counts_add; no reading changes it */
};

struct counts;
/*
 * mapping: a ring's whole shared memory of so many bytes, borrowed. 0; -EBADMSG there are no
 * counters in it, or not where it says; -ENOMEM.
 */
int counts_new(const void *mapping, size_t bytes, struct counts **ret) _must_check_;
void counts_free(struct counts *counts);
enum counts_kind counts_kind(const struct counts *counts);
/*
 * Reads all of them anew: what follows is as of then. most: calls that there can have been so far;
 * no sum is beyond that, nor one of bytes beyond 2^53. 0 or -ENOMEM.
 */
int counts_read(struct counts *counts, uint64_t most) _must_check_;
/* Was anything read that can't be, and left out? */
bool counts_are_corrupt(const struct counts *counts);
const struct counts_sums *counts_sums(const struct counts *counts);
/*
 * Requested sizes, ascending, with how often they were asked for; beyond 16,384 different ones of
 * COUNTS_SMALL or more, the end of their step instead. Returns how many. each: or NULL.
 */
size_t counts_sizes(const struct counts *counts,
		    void (*each)(void *context, uint64_t size, uint64_t count), void *context);
/*
 * One more allocation of size bytes that is in no counter but those of totals and sizes, in a row
 * with that mark. 0 or -ENOMEM.
 */
int counts_add(struct counts *counts, uint32_t mark, uint64_t size) _must_check_;
/* Rows never change their index; those of the last reading come to what counts_rows says. */
size_t counts_rows(const struct counts *counts);
struct counts_row *counts_row(struct counts *counts, size_t index);

#endif
