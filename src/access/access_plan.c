/* SPDX-License-Identifier: MIT */
/*
 * access_plan.c - the groups take turns, in each its first few blocks that are still quiet, of each
 * of these the first two words and then words all over it: multiples of a stride without a
 * common divisor with their number meet all of them, far apart from each other first. Blocks of a
 * group begin with different ones: what uses one of them uses the others, too.
 * A block that was seen to be used gives its turns to the others. Only the one word is watched
 * again, twice, by two breakpoints: x86 has none for reads alone, and both together tell
 * reads from writes. What debug registers are left then look for more users, some times.
 */
#include "src/access/access_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIVE = 4, CONFIRMATIONS = 2, FIRST_WORDS = 2, MORE_WORDS = 16 };

static size_t examples_of(const struct leak_group *group)
{
	if (group->verdict >= LEAK_REACHABLE)
		return 0;
	return group->address_count < LEAK_MAX_ADDRESSES ? group->address_count :
							   LEAK_MAX_ADDRESSES;
}

static void add_group(struct access_plan *plan, const struct leak_group *group, size_t index)
{
	size_t examples = examples_of(group);

	if (!examples)
		return;
	plan->group[plan->group_count++] =
		(struct access_turns){ plan->count, plan->count + examples, 0 };
	for (uint32_t i = 0; i < examples; i++)
		plan->block[plan->count++] = (struct access_block){
			.address = group->address[i], .bytes = group->example[i].bytes,
			.group = index, .example = i, .turn = i % ACTIVE,
		};
}

int access_plan_new(const struct leak_report *report, struct access_plan *ret)
{
	size_t count = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < report->group_count; i++)
		count += examples_of(&report->group[i]);
	ret->block = calloc(count + 1, sizeof(*ret->block));
	ret->group = calloc(report->group_count + 1, sizeof(*ret->group));
	if (!ret->block || !ret->group) {
		access_plan_done(ret);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->group_count; i++)
		add_group(ret, &report->group[i], i);
	return 0;
}

void access_plan_done(struct access_plan *plan)
{
	free(plan->block);
	free(plan->group);
	plan->block = NULL;
	plan->group = NULL;
	plan->count = plan->group_count = 0;
}

static void plan_add(struct access_slice *slice, size_t block, uint64_t address, bool paired,
		     bool writes_only)
{
	slice->target[slice->count++] =
		(struct access_target){ block, address, paired, writes_only };
}

/* ---- words of blocks that are in use: what is it that uses them? ---- */

static void add_pairs(struct access_plan *plan, uint32_t most, struct access_slice *slice)
{
	for (size_t tried = 0; tried < plan->count && slice->count + 2 <= most; tried++) {
		size_t at = plan->pair_cursor++ % plan->count;
		struct access_block *block = &plan->block[at];

		if (block->state != ACCESS_TOUCHED || block->confirmed >= CONFIRMATIONS)
			continue;
		block->confirmed++;
		plan_add(slice, at, block->touched, true, false);
		plan_add(slice, at, block->touched, true, true);
	}
}

/* ---- words of blocks of which nothing is known ---- */

static uint64_t divisor_of(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Near the golden section, so that the first few lie far from each other. */
static uint64_t stride_for(uint64_t words)
{
	uint64_t stride = words / 1000 * 618 + words % 1000 * 618 / 1000;

	stride = stride ? stride : 1;
	while (divisor_of(words, stride) != 1)
		stride++;
	return stride;
}

static uint64_t next_word(struct access_block *block)
{
	uint64_t words = block->bytes / ACCESS_WORD_BYTES, turn = block->turn++;

	if (words <= FIRST_WORDS)
		words = block->bytes ? (words ? words : 1) : FIRST_WORDS;
	if (turn >= FIRST_WORDS)
		turn = 1 + (turn - 1) % words * stride_for(words);
	return (block->address & ~(uint64_t)(ACCESS_WORD_BYTES - 1)) +
	       turn % words * ACCESS_WORD_BYTES;
}

/* The group's next quiet block, among the first few of them; false: it has none. */
static bool next_quiet(const struct access_plan *plan, struct access_turns *group, size_t *ret)
{
	size_t active[ACTIVE], count = 0;

	for (size_t i = group->begin; i < group->end && count < ACTIVE; i++)
		if (plan->block[i].state == ACCESS_QUIET)
			active[count++] = i;
	if (!count)
		return false;
	*ret = active[group->turn++ % count];
	return true;
}

static bool has(const struct access_slice *slice, uint64_t address)
{
	for (uint32_t i = 0; i < slice->count; i++)
		if (slice->target[i].address == address)
			return true;
	return false;
}

static void add_quiet(struct access_plan *plan, uint32_t slots, struct access_slice *slice)
{
	size_t tries = (plan->group_count + ACTIVE) * ACCESS_SLOTS;

	while (slice->count < slots && tries-- > 0 && plan->group_count) {
		struct access_turns *group = &plan->group[plan->cursor++ % plan->group_count];
		uint64_t address;
		size_t block;

		if (!next_quiet(plan, group, &block))
			continue;
		address = next_word(&plan->block[block]);
		if (!has(slice, address))
			plan_add(slice, block, address, false, false);
	}
}

/* Other words of blocks that are in use. */
static void add_more(struct access_plan *plan, uint32_t slots, struct access_slice *slice)
{
	for (size_t tried = 0; tried < plan->count && slice->count < slots; tried++) {
		size_t at = plan->more_cursor++ % plan->count;
		struct access_block *block = &plan->block[at];
		uint64_t address;

		if (block->state != ACCESS_TOUCHED || block->more == MORE_WORDS)
			continue;
		block->more++;
		address = next_word(block);
		if (!has(slice, address))
			plan_add(slice, at, address, false, false);
	}
}

void access_plan_next(struct access_plan *plan, uint32_t slots, struct access_slice *ret)
{
	ret->count = 0;
	if (slots > ACCESS_SLOTS)
		slots = ACCESS_SLOTS;
	add_pairs(plan, slots < 2 ? slots : 2, ret);
	add_quiet(plan, slots, ret);
	add_pairs(plan, slots, ret);	/* where nothing is quiet any more */
	for (int i = 0; i < MORE_WORDS && ret->count < slots; i++)
		add_more(plan, slots, ret);
}
