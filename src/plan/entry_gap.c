/* SPDX-License-Identifier: MIT */
/*
 * entry_gap.c - finds filler that never runs, within reach of a short jump.
 *
 * Two kinds count as dead. (1) Padding between functions: the hole between two
 * ranges of call frame information, if all of it is nops and int3; of a hole that
 * also holds something else (hand-written code without CFI may) only the padding
 * up to the first 16-byte boundary. (2) Padding before a label inside a function,
 * as entry_scan_code proves it. glibc 2.36's realloc has room for its jump only
 * that way. Both must lie in the entry's own r-x mapping.
 *
 * Rejected: code after a call that never returns (nobody can prove that), and
 * bytes of functions that "are surely not used".
 */
#include "src/plan/entry_gap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOLE_BYTES	256u	/* longest hole that is looked at as a whole */
#define FUNCTION_ALIGN	16u
#define WORD		8u

/* One search. */
struct gap_search {
	struct entry_gaps *gaps;
	uint64_t entry, low, high;	/* where the 5 bytes may lie */
	uint64_t best;
	bool found, in_one_word;
};

static bool is_reserved(const struct entry_gaps *gaps, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < gaps->count; i++) {
		if (gaps->word[i] >= low / WORD && gaps->word[i] <= (high - 1) / WORD)
			return true;
	}
	return false;
}

int entry_gaps_reserve(struct entry_gaps *gaps, uint64_t low, uint64_t high)
{
	for (uint64_t word = low / WORD; word <= (high - 1) / WORD; word++) {
		if (is_reserved(gaps, word * WORD, word * WORD + WORD))
			continue;
		if (gaps->count >= ENTRY_GAP_MAX_WORDS)
			return -ENOSPC;
		gaps->word[gaps->count++] = word;
	}
	return 0;
}

/* Takes the first place in the dead bytes [low, high) that beats what was found before. */
static void try_span(struct gap_search *search, uint64_t low, uint64_t high)
{
	low = low > search->low ? low : search->low;
	high = high < search->high ? high : search->high;
	for (uint64_t at = low; at < high && high - at >= ENTRY_GAP_BYTES; at++) {
		bool in_one_word = at / WORD == (at + ENTRY_GAP_BYTES - 1) / WORD;

		if ((search->found && !in_one_word) || search->in_one_word ||
		    is_reserved(search->gaps, at, at + ENTRY_GAP_BYTES))
			continue;
		search->best = at;
		search->found = true;
		search->in_one_word = in_one_word;
	}
}

/* The hole [low, high) between two functions. */
static int try_hole(struct gap_search *search, uint64_t low, uint64_t high)
{
	const struct elf_reader *reader = search->gaps->reader;
	uint64_t bytes = high - low < HOLE_BYTES ? high - low : HOLE_BYTES, dead;
	uint8_t code[HOLE_BYTES];
	int r;

	if (low >= search->high || high <= search->low || bytes < ENTRY_GAP_BYTES)
		return 0;
	r = reader->read(reader->context, low, code, bytes);
	if (r < 0)
		return r;
	dead = low + entry_filler_bytes(code, bytes);
	if (dead != high) {
		uint64_t boundary = (low + FUNCTION_ALIGN - 1) & ~(uint64_t)(FUNCTION_ALIGN - 1);

		dead = dead < boundary ? dead : boundary;
	}
	try_span(search, low, dead);
	return 0;
}

/* The padding inside of a function. */
static int try_function(struct gap_search *search, const struct entry_span *function)
{
	const struct elf_reader *reader = search->gaps->reader;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct entry_code code = { .low = function->low, .high = function->high };
	struct entry_scan scan;
	int r;

	if (function->low >= search->high || function->high <= search->low ||
	    function->high - function->low > ENTRY_MAX_CODE_BYTES)
		return 0;
	bytes = malloc(function->high - function->low + 1);
	if (!bytes)
		return -ENOMEM;
	r = reader->read(reader->context, code.low, bytes, code.high - code.low);
	if (r < 0)
		return r;
	code.bytes = bytes;
	r = entry_scan_code(&code, &scan);
	if (r < 0)
		return r;
	for (size_t i = 0; i < scan.filler_count; i++)
		try_span(search, scan.filler[i].low, scan.filler[i].high);
	entry_scan_done(&scan);
	return 0;
}

static int try_holes(struct gap_search *search, const struct code_ranges *ranges)
{
	uint64_t end = ranges->count ? ranges->range[0].high : 0;
	int r = 0;

	for (size_t i = 1; i < ranges->count && r == 0; i++) {
		const struct entry_span *next = &ranges->range[i];

		if (next->low > end)
			r = try_hole(search, end, next->low);
		end = next->high > end ? next->high : end;
	}
	return r;
}

/* Where a short jump from entry may lead, cut to the mapping of entry. */
static int search_begin(struct entry_gaps *gaps, uint64_t entry, struct gap_search *ret)
{
	const struct procmap *map = procmaps_find(gaps->maps, entry);

	if (!map || !(map->prot & PROCMAP_X) || (map->prot & PROCMAP_W))
		return -ENOENT;
	*ret = (struct gap_search){ .gaps = gaps, .entry = entry };
	ret->low = entry - map->start > ENTRY_GAP_BELOW ? entry - ENTRY_GAP_BELOW : map->start;
	ret->high = entry + ENTRY_GAP_ABOVE + ENTRY_GAP_BYTES;
	ret->high = ret->high < map->end ? ret->high : map->end;
	return 0;
}

int entry_gap_find(struct entry_gaps *gaps, const struct code_ranges *ranges, uint64_t entry,
		   uint64_t *ret_gap, uint8_t ret_expect[8])
{
	struct gap_search search;
	uint8_t expect[8] = { 0 };
	int r = search_begin(gaps, entry, &search);

	if (r == 0)
		r = try_holes(&search, ranges);
	for (size_t i = 0; i < ranges->count && r == 0 && !search.in_one_word; i++)
		r = try_function(&search, &ranges->range[i]);
	if (r < 0)
		return r;
	if (!search.found)
		return -ENOENT;
	r = gaps->reader->read(gaps->reader->context, search.best, expect, ENTRY_GAP_BYTES);
	if (r == 0)
		r = entry_gaps_reserve(gaps, search.best, search.best + ENTRY_GAP_BYTES);
	if (r < 0)
		return r;
	*ret_gap = search.best;
	memcpy(ret_expect, expect, sizeof(expect));
	return 0;
}
