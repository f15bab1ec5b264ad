/* SPDX-License-Identifier: MIT */
/*
 * marks_abi.h - where no sampled block begins: all that most calls of free need to know.
 *
 * One byte for each 64 bytes of memory, folded: how many addresses in the address table go with
 * it. Nearly all are 0, neighbours in memory are neighbours here, and the whole of it stays in the
 * caches, where the table's lines, which are spread by a hash, do not. Who puts an address into the
 * table adds to its mark, who takes it out again takes from it: the shim, and the keeper when it
 * empties the table.
 *
 * Rejected: bits (they can't be cleared when a block goes, so they fill up and have to be made
 * anew beside a program that runs); buckets by place in memory (one that is sampled densely, as
 * all are in the beginning, has no room).
 */
#ifndef MEMATTACH_MARKS_ABI_H
#define MEMATTACH_MARKS_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/ring_abi.h"

#define MARKS_SHIFT	6	/* 64 bytes of memory a mark: a line stands for a page */
#define MARKS_BYTES	(1u << 16)	/* shim_hooks.S takes 16 bits of the address */
#define MARKS_MOST	255u	/* so many at once, which may be more: it stays so */

static inline uint8_t *marks_of(struct ring_control *control, uint64_t address)
{
	return (uint8_t *)control + RING_CONTROL_BYTES +
	       ((address >> MARKS_SHIFT) & (MARKS_BYTES - 1));
}

/* False: surely no address in the table. */
static inline bool marks_may_have(struct ring_control *control, uint64_t address)
{
	return __atomic_load_n(marks_of(control, address), __ATOMIC_RELAXED) != 0;
}

/* address is in the table, and nobody can have it yet. */
static inline void marks_add(struct ring_control *control, uint64_t address)
{
	uint8_t *mark = marks_of(control, address), old = __atomic_load_n(mark, __ATOMIC_RELAXED);

	while (old != MARKS_MOST &&
	       !__atomic_compare_exchange_n(mark, &old, (uint8_t)(old + 1), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* address was taken out of the table by the caller. */
static inline void marks_remove(struct ring_control *control, uint64_t address)
{
	uint8_t *mark = marks_of(control, address), old = __atomic_load_n(mark, __ATOMIC_RELAXED);

	while (old != 0 && old != MARKS_MOST &&
	       !__atomic_compare_exchange_n(mark, &old, (uint8_t)(old - 1), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

#endif
