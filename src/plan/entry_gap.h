/* SPDX-License-Identifier: MIT */
/*
 * entry_gap.h - dead bytes near an entry point that can hold a 5-byte jump.
 *
 * A short jump at the entry reaches [entry - 126, entry + 129]. Every aligned word of 8
 * bytes is given out once, and none that an entry's jump lies in: words are the unit of writing.
 */
#ifndef MEMATTACH_ENTRY_GAP_H
#define MEMATTACH_ENTRY_GAP_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/procmaps.h"
#include "src/plan/code_ranges.h"

#define ENTRY_GAP_BYTES		5u	/* jmp rel32 */
#define ENTRY_GAP_BELOW		126u	/* reach of a jmp rel8 at the entry, from the entry */
#define ENTRY_GAP_ABOVE		129u
#define ENTRY_GAP_MAX_WORDS	(4u * RING_MAX_ENTRIES)

/* What has been given out. Zeroed but for the first two at the start; nothing to release. */
struct entry_gaps {
	const struct elf_reader *reader;
	const struct procmaps *maps;
	size_t count;
	uint64_t word[ENTRY_GAP_MAX_WORDS];	/* addresses / 8 */
};

/* Keeps the words of [low, high) from being given out. 0 or -ENOSPC. */
int entry_gaps_reserve(struct entry_gaps *gaps, uint64_t low, uint64_t high);

/*
 * Finds and reserves a gap for entry. ranges: the functions around it (at least
 * ENTRY_GAP_BELOW + ENTRY_GAP_ABOVE to both sides). ret_expect gets the 5 bytes
 * that lie there. Gaps within one word are preferred. 0, -ENOENT, -ENOMEM, -errno.
 */
int entry_gap_find(struct entry_gaps *gaps, const struct code_ranges *ranges, uint64_t entry,
		   uint64_t *ret_gap, uint8_t ret_expect[8]) _must_check_;

#endif
