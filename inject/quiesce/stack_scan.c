/* SPDX-License-Identifier: MIT */
/*
 * stack_scan.c - the words of a stack, and of the stacks below it.
 *
 * A handler on an alternate stack leaves the interrupted frames elsewhere: on
 * another mapping, or, where the alternate stack is an array in one of the
 * thread's own frames, *below* the stack pointer. The kernel's signal frame says
 * where: it is known by its selectors, and each one found adds the interrupted
 * stack to what is scanned. A frame that is no longer in use adds a stack that
 * need not be scanned, which can only delay the answer "clean", never make it wrong.
 */
#include "inject/quiesce/stack_scan.h"

#include <stddef.h>
#include <string.h>

#include "inject/abi/ring_abi.h"
#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/remote_mem.h"
#include "src/base/pagemap.h"

enum { MAX_STACKS = 16, SCAN_WORDS = 512 };
#define SCAN_BYTES (16ull * 1024 * 1024)

/* Stacks still to be scanned and those that were; the first count are known. */
struct stacks {
	struct stack_range part[MAX_STACKS];
	size_t count;
};

bool stack_scan_hits(const struct stack_scan *s, uint64_t value)
{
	for (size_t i = 0; i < s->count; i++)
		if (value >= s->range[i].low && value < s->range[i].high)
			return true;
	return false;
}

/* Where the stack ends on which a handler interrupted the thread at sp. 0: not a stack. */
static uint64_t interrupted_end(const struct stack_scan *s, const struct stacks *stacks,
				uint64_t sp)
{
	const struct procmap *map = procmaps_find(s->maps, sp);

	if (!map || !(map->prot & PROCMAP_W))
		return 0;
	/* below one that is known: up to that one, which is scanned itself */
	for (size_t i = 0; i < stacks->count; i++)
		if (sp < stacks->part[i].low && stacks->part[i].low < map->end &&
		    stacks->part[i].high <= map->end)
			return stacks->part[i].low;
	return map->end;
}

/* The word at `at` is a signal frame's selectors: notes the stack that it interrupted. */
static bool follow_frame(const struct stack_scan *s, struct stacks *stacks, uint64_t at)
{
	uint64_t sp, end;

	if (remote_read(s->target, at - FRAME_SELECTORS_AFTER_SP, &sp, sizeof(sp)))
		return false;
	sp &= ~7ull;
	for (size_t i = 0; i < stacks->count; i++)
		if (sp >= stacks->part[i].low && sp < stacks->part[i].high)
			return true;
	end = interrupted_end(s, stacks, sp);
	if (!end)
		return true;	/* it can't be run on: no frame, or one long gone */
	if (stacks->count == MAX_STACKS || end - sp > SCAN_BYTES)
		return false;
	stacks->part[stacks->count++] = (struct stack_range){ .low = sp, .high = end };
	return true;
}

/*
 * Can value, which points into r, not be a return address? Hooks that have long returned left in
 * their frames what r11 was, the first byte of an entry's original: no call returns there. The
 * shim's functions left their own return addresses further down, of calls under way only as long
 * as their hook's is there.
 */
static bool is_no_return(const struct stack_range *r, uint64_t value)
{
	if (r->islands)
		return (value - r->low) % sizeof(struct ring_island_entry) ==
		       offsetof(struct ring_island_entry, original);
	return r->calls_low && !(value >= r->calls_low && value < r->calls_high);
}

/*
 * Has the word at `at` been left by a call that is over? A handler that interrupted a thread there
 * returns to any instruction, and then the word lies in a signal frame.
 */
static bool is_left_over(const struct stack_scan *s, uint64_t at, uint64_t value)
{
	uint64_t selectors;

	for (size_t i = 0; i < s->count; i++)
		if (value >= s->range[i].low && value < s->range[i].high &&
		    !is_no_return(&s->range[i], value))
			return false;
	return remote_read(s->target, at + FRAME_SELECTORS_AFTER_IP, &selectors,
			   sizeof(selectors)) == 0 && !frame_is_selectors(selectors);
}

static bool words_clean(const struct stack_scan *s, struct stacks *stacks, uint64_t at,
			const uint64_t *word, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((stack_scan_hits(s, word[i]) && !is_left_over(s, at + i * 8, word[i])) ||
		    (frame_is_selectors(word[i]) && !follow_frame(s, stacks, at + i * 8)))
			return false;
	return true;
}

/* A stretch that was in memory and can't be read is not clean. */
static bool stretch_clean(const struct stack_scan *s, struct stacks *stacks, uint64_t at,
			  uint64_t end)
{
	uint64_t word[SCAN_WORDS];

	while (at < end) {
		size_t want = end - at < sizeof(word) ? (size_t)(end - at) : sizeof(word);
		size_t got = remote_read_some(s->target, at, word, want);

		if (!words_clean(s, stacks, at, word, got / sizeof(word[0])) || got < want)
			return false;
		at += got;
	}
	return true;
}

/*
 * Every aligned word of one stack. What has never been in memory is zeros, unless the program
 * brings it itself (userfaultfd): no frame is there.
 */
static bool part_clean(const struct stack_scan *s, struct stacks *stacks, struct stack_range part)
{
	const struct procmap *map = procmaps_find(s->maps, part.low);
	struct pagemap_range range;
	struct pagemap pagemap;
	uint64_t at = part.low;

	if (part.low >= part.high)
		return true;
	/* of shared memory the process may not have what is there */
	pagemap_init(&pagemap, map && !(map->prot & PROCMAP_SHARED) ? s->target->pagemap : -1);
	while (pagemap_stretch(&pagemap, &at, part.high, &range))
		if (!stretch_clean(s, stacks, range.low, range.high))
			return false;
	return true;
}

bool stack_scan_clean(const struct stack_scan *s, uint64_t sp, uint64_t end)
{
	return stack_scan_clean_known(s, sp, end, NULL, 0);
}

bool stack_scan_clean_known(const struct stack_scan *s, uint64_t sp, uint64_t end,
			    const uint64_t *word, size_t count)
{
	struct stacks stacks = { .part = { { .low = sp & ~7ull, .high = end } }, .count = 1 };
	struct stack_range rest = { .low = stacks.part[0].low + count * sizeof(*word),
				    .high = end };

	if (end - sp > SCAN_BYTES || !words_clean(s, &stacks, stacks.part[0].low, word, count) ||
	    !part_clean(s, &stacks, rest))
		return false;
	for (size_t i = 1; i < stacks.count; i++)
		if (!part_clean(s, &stacks, stacks.part[i]))
			return false;
	return true;
}
