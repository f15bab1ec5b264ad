/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees.c - wrong frees, alike ones as one: the first is kept whole, the rest count.
 *
 * A program that frees wrongly in a loop does so a million times from the same place.
 * Alike is what has the same stacks (of the allocation, of the first free, of this one)
 * and the same reason; addresses, times and threads are those of the first. Few programs
 * have more than a handful, so they are compared one by one, with the one that
 * was seen last first.
 *
 * Rejected: growing without bound (the target decides how many there are).
 */
#include "src/live/wrong_frees.h"

#include <errno.h>
#include <stdlib.h>

struct wrong_frees {
	size_t count, last;
	uint64_t left_out;
	struct wrong_free found[WRONG_FREES_MAX];
};

int wrong_frees_new(struct wrong_frees **ret)
{
	struct wrong_frees *wrong = calloc(1, sizeof(*wrong));

	if (!wrong)
		return -ENOMEM;
	*ret = wrong;
	return 0;
}

void wrong_frees_free(struct wrong_frees *wrong)
{
	free(wrong);
}

static bool alike(const struct wrong_free *a, const struct wrong_free *b)
{
	return a->reason == b->reason && a->realloc == b->realloc && a->entry == b->entry &&
	       a->by.stack == b->by.stack && a->block.site == b->block.site &&
	       a->block.freed.stack == b->block.freed.stack;
}

void wrong_frees_add(struct wrong_frees *wrong, const struct wrong_free *found)
{
	size_t at = wrong->last;

	if (wrong->count == 0 || !alike(&wrong->found[at], found)) {
		for (at = 0; at < wrong->count && !alike(&wrong->found[at], found); at++)
			;
	}
	if (at == WRONG_FREES_MAX) {
		wrong->left_out++;
		return;
	}
	wrong->last = at;
	if (at == wrong->count) {
		wrong->found[wrong->count++] = *found;
		wrong->found[at].count = 0;
	}
	wrong->found[at].count++;
}

const struct wrong_free *wrong_frees_all(const struct wrong_frees *wrong, size_t *ret_count)
{
	*ret_count = wrong->count;
	return wrong->found;
}

uint64_t wrong_frees_left_out(const struct wrong_frees *wrong)
{
	return wrong->left_out;
}

const char *wrong_free_reason_name(enum wrong_free_reason reason)
{
	static const char *const name[] = {
		[WRONG_FREE_NOT] = "none",
		[WRONG_FREE_AGAIN] = "freed-before",
		[WRONG_FREE_INSIDE] = "inside-block",
		[WRONG_FREE_MISALIGNED] = "misaligned",
		[WRONG_FREE_STACK] = "stack",
		[WRONG_FREE_STATIC] = "static-data",
		[WRONG_FREE_UNMAPPED] = "no-memory",
		[WRONG_FREE_MAPPED] = "not-allocated",
		[WRONG_FREE_FREE] = "free-memory",
	};

	return name[reason];
}
