/* SPDX-License-Identifier: MIT */
/*
 * fuzz_heap.h - what the fuzzers of all heap walkers have in common.
 *
 * The input overwrites pieces of a small well-formed heap, so that mutations start from something
 * that gets far. The walk must end soon, and whatever it finds must lie where blocks can lie and
 * agree with its sums; what is not covered must have added nothing. What is wrong aborts.
 */
#ifndef MEMATTACH_TESTS_FUZZ_HEAP_H
#define MEMATTACH_TESTS_FUZZ_HEAP_H

#include "tests/unit/leak_heap_lab.h"

struct fuzz_heap {
	__typeof__(heap_walk_glibc) *walker;
	/* Can such a block be there? */
	bool (*is_possible)(struct lab *lab, const struct block *block);
	size_t unit, most;	/* what is overwritten at once: up to most times unit bytes */
};

/* Overwrites pieces of the lab's areas: which one, where in it, how much: then the bytes. */
void fuzz_heap_mutate(const struct fuzz_heap *fuzz, struct lab *lab, const uint8_t *data,
		      size_t size);
/*
 * Walks the lab as it is now, and checks what comes of it. unchanged: nothing was overwritten,
 * so that the heap must be understood, or the mutations explore nothing.
 */
void fuzz_heap_walk(const struct fuzz_heap *fuzz, struct lab *lab, bool unchanged);

#endif
