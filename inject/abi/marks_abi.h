/* SPDX-License-Identifier: MIT */
/*
 * marks_abi.h - where no sampled block begins: all that most calls of free need to know.
 *
 * One byte for each 64 bytes of memory, folded: what of the address table goes with it. Nearly all
 * are 0, neighbours in memory are neighbours here, and the whole of it stays in the caches, where
 * the table's lines, which are spread by a hash, do not. Who puts an address into the table adds to
 * its mark, who takes it out again takes from it: the shim, and the keeper when it empties the
 * table.
 *
 * A mark of one address is its fingerprint, so that the free of another block that shares the
 * mark, the usual case where the heap is much larger than what is folded, seldom looks further.
 * Of several it is their number; when all but one of these are gone, that one is not known.
 *
 * Rejected: bits (they can't be cleared when a block goes, so they fill up and have to be made
 * anew beside a program that runs); buckets by place in memory (one that is sampled densely, as
 * all are in the beginning, has no room); fewer bytes (programs that read more memory than the
 * caches hold wait no less for 4 KiB of marks than for 64).
 */
#ifndef MEMATTACH_MARKS_ABI_H
#define MEMATTACH_MARKS_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/abi/ring_abi.h"

#define MARKS_SHIFT	6	/* 64 bytes of memory a mark: a line stands for a page */
#define MARKS_BYTES	(1u << 16)	/* shim_hooks.S takes 16 bits of the address */

/* What a mark says. Steps lead from 0 to a fingerprint to MARKS_MANY + 2 and on, and back. */
#define MARKS_PRINT	0x40u	/* one address, and the 6 bits below are its print */
#define MARKS_MANY	0x80u	/* so many as the 7 bits below, of which nothing is known */
#define MARKS_MOST	0xffu	/* so many at once, which may be more: it stays so */
#define MARKS_HASH_FACTOR	0x9e3779b97f4a7c15u	/* of shim_hash(): the same product */
#define MARKS_HASH_SHIFT	58

static inline uint8_t *marks_of(struct ring_control *control, uint64_t address)
{
	return (uint8_t *)control + RING_CONTROL_BYTES +
	       ((address >> MARKS_SHIFT) & (MARKS_BYTES - 1));
}

static inline uint8_t marks_print(uint64_t address)
{
	return (uint8_t)(MARKS_PRINT |
			 ((address >> 4) * MARKS_HASH_FACTOR) >> MARKS_HASH_SHIFT);
}

/* False: surely address is not in the table. */
static inline bool marks_may_have(struct ring_control *control, uint64_t address)
{
	uint8_t mark = __atomic_load_n(marks_of(control, address), __ATOMIC_RELAXED);

	return mark >= MARKS_MANY || (mark != 0 && mark == marks_print(address));
}

static inline uint8_t marks_one_more(uint8_t mark, uint64_t address)
{
	if (mark == 0)
		return marks_print(address);
	if (mark < MARKS_MANY)
		return MARKS_MANY + 2;
	return mark == MARKS_MOST ? mark : (uint8_t)(mark + 1);
}

static inline uint8_t marks_one_less(uint8_t mark)
{
	if (mark <= MARKS_MANY + 1)
		return 0;
	return mark == MARKS_MOST ? mark : (uint8_t)(mark - 1);
}

/* address is in the table, and nobody can have it yet. */
static inline void marks_add(struct ring_control *control, uint64_t address)
{
	uint8_t *mark = marks_of(control, address), old = __atomic_load_n(mark, __ATOMIC_RELAXED);

	while (old != MARKS_MOST &&
	       !__atomic_compare_exchange_n(mark, &old, marks_one_more(old, address), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* address was taken out of the table by the caller. */
static inline void marks_remove(struct ring_control *control, uint64_t address)
{
	uint8_t *mark = marks_of(control, address), old = __atomic_load_n(mark, __ATOMIC_RELAXED);

	while (old != 0 && old != MARKS_MOST &&
	       !__atomic_compare_exchange_n(mark, &old, marks_one_less(old), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

#endif
