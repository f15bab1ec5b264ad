/* SPDX-License-Identifier: MIT */
/*
 * verdict.c - a lost block that is used, or freed, is not lost: the program can compute its
 * address. That is proof for this block. For others of the same site or type it is a doubt, and
 * they are no longer called definitely lost; a group that has only its size in common is
 * no group in that sense, and its other blocks stay what they were.
 * Not to have been seen is no proof, and changes nothing.
 */
#include "src/access/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct judging {
	struct leak_report *report;
	const struct access_plan *plan;
	double seconds;
};

static bool is_proven(const struct access_block *block)
{
	return block->state == ACCESS_TOUCHED || block->state == ACCESS_FREED ||
	       block->state == ACCESS_CHANGED;
}

static uint32_t proven(const struct leak_access *access)
{
	return access->accessed + access->freed + access->changed;
}

static bool is_lost(const struct leak_group *group)
{
	return group->verdict == LEAK_DEFINITELY_LOST || group->verdict == LEAK_POSSIBLY_LOST;
}

/* Of the group's blocks those that were used, or not, or all of them. */
enum part { PART_ALL, PART_USED, PART_QUIET };

static bool is_in(enum part part, const struct access_block *block)
{
	return part == PART_ALL || (part == PART_USED) == is_proven(block);
}

static struct leak_access *sum_up(const struct judging *j, size_t group, enum part part)
{
	struct leak_access *access = calloc(1, sizeof(*access));

	for (size_t i = 0; access && i < j->plan->count; i++) {
		const struct access_block *block = &j->plan->block[i];

		if (block->group != group || !is_in(part, block))
			continue;
		access->watched += block->armed > 0 || is_proven(block);
		access->accessed += block->state == ACCESS_TOUCHED;
		access->freed += block->state == ACCESS_FREED;
		access->changed += block->state == ACCESS_CHANGED;
		access->armed_seconds += block->armed;
		access->at_least |= block->capped;
	}
	if (access)
		access->seconds = j->seconds;
	return access;
}

/* ---- a part of a group becomes another one ---- */

static void take_from(uint64_t *from, uint64_t amount)
{
	*from -= amount < *from ? amount : *from;
}

static void move_sum(struct leak_report *report, enum block_kind from, enum block_kind to,
		     uint64_t count, uint64_t bytes)
{
	take_from(&report->kind[from].count, count);
	take_from(&report->kind[from].bytes, bytes);
	report->kind[to].count += count;
	report->kind[to].bytes += bytes;
}

/* With what only it leads to. */
static void move_sums(struct leak_report *report, const struct leak_group *group,
		      enum block_kind to)
{
	move_sum(report, group->verdict == LEAK_DEFINITELY_LOST ? BLOCK_DEFINITELY_LOST :
								  BLOCK_POSSIBLY_LOST,
		 to, group->count, group->bytes);
	move_sum(report, BLOCK_INDIRECTLY_LOST, to, group->indirect_count, group->indirect_bytes);
}

/* A copy of text; *failed if there is no memory for one. */
static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* Like group, without any blocks yet. */
static int copy_group(const struct leak_group *group, struct leak_group *ret)
{
	bool failed = false;

	*ret = *group;
	ret->access = NULL;
	ret->content = NULL;
	ret->content_count = 0;
	ret->type = copy_text(group->type, &failed);
	ret->variable = copy_text(group->variable, &failed);
	ret->held_by = copy_text(group->held_by, &failed);
	ret->last_held_by = copy_text(group->last_held_by, &failed);
	ret->count = ret->bytes = ret->indirect_count = ret->indirect_bytes = 0;
	ret->address_count = 0;
	if (failed)
		leak_group_done(ret);
	return failed ? -ENOMEM : 0;
}

static void move_example(struct leak_group *from, uint32_t example, struct leak_group *to)
{
	const struct leak_example *block = &from->example[example];

	take_from(&from->count, 1);
	take_from(&from->bytes, block->bytes);
	take_from(&from->indirect_count, block->indirect_count);
	take_from(&from->indirect_bytes, block->indirect_bytes);
	to->count++;
	to->bytes += block->bytes;
	to->indirect_count += block->indirect_count;
	to->indirect_bytes += block->indirect_bytes;
	to->address[to->address_count] = from->address[example];
	to->example[to->address_count++] = *block;
}

/* Moves the examples that are in use to *to; the others close up. */
static void move_used(const struct judging *j, size_t index, struct leak_group *from,
		      struct leak_group *to)
{
	uint32_t used = 0, kept = 0;

	for (size_t i = 0; i < j->plan->count; i++)
		if (j->plan->block[i].group == index && is_proven(&j->plan->block[i]))
			used |= 1u << j->plan->block[i].example;
	for (uint32_t i = 0; i < from->address_count; i++) {
		if (used & 1u << i) {
			move_example(from, i, to);
			continue;
		}
		from->address[kept] = from->address[i];
		from->example[kept++] = from->example[i];
	}
	from->address_count = kept;
}

/* ---- one group ---- */

static void disprove(struct leak_report *report, struct leak_group *group,
		     struct leak_access *access)
{
	move_sums(report, group, BLOCK_REACHABLE);
	group->verdict = LEAK_REACHABLE;
	access->disproved = true;
	free(group->access);
	group->access = access;
}

/* What is left of a group of which some blocks are in use. */
static void doubt(struct leak_report *report, struct leak_group *group)
{
	bool same_origin = group->site || group->type;

	group->access->doubtful = same_origin;
	if (!same_origin || group->verdict != LEAK_DEFINITELY_LOST)
		return;
	move_sums(report, group, BLOCK_POSSIBLY_LOST);
	group->verdict = LEAK_POSSIBLY_LOST;
}

static int split(const struct judging *j, size_t index, struct leak_access *used)
{
	struct leak_group *group = &j->report->group[index], piece;
	struct leak_access *quiet;

	if (proven(used) >= group->count) {
		disprove(j->report, group, used);
		return 0;
	}
	quiet = sum_up(j, index, PART_QUIET);
	if (!quiet || copy_group(group, &piece)) {
		free(quiet);
		free(used);
		return -ENOMEM;
	}
	move_used(j, index, group, &piece);
	free(group->access);
	group->access = quiet;
	doubt(j->report, group);
	disprove(j->report, &piece, used);	/* its share of the sums is where it was */
	return leak_report_add(j->report, &piece);
}

static int judge(const struct judging *j, size_t index, struct access_places *places)
{
	struct leak_group *group = &j->report->group[index];
	struct leak_access *all = sum_up(j, index, PART_ALL), *used;

	if (!all)
		return -ENOMEM;
	group->access = all;
	if (!all->watched) {
		free(all);
		group->access = NULL;
		return 0;
	}
	access_places_put(places, all);
	if (!is_lost(group) || !proven(all))
		return 0;
	used = sum_up(j, index, PART_USED);
	if (!used)
		return -ENOMEM;
	access_places_put(places, used);
	return split(j, index, used);
}

int access_verdict_apply(struct leak_report *report, const struct access_plan *plan,
			 struct access_places *places, double seconds)
{
	struct judging j = { report, plan, seconds };
	size_t groups = report->group_count;
	int error = 0;

	for (size_t i = 0; !error && i < groups; i++)
		error = judge(&j, i, &places[i]);
	leak_report_sort(report);
	return error;
}
