/* SPDX-License-Identifier: MIT */
/*
 * likely.c - see likely.h.
 *
 * A site that leaks goes on to do so while it is watched, and what it lost since then is in the
 * books: so a block from before that has the same size is probably one of its. Sites that differ
 * only in who called the function that allocates are one. With two places of that size nothing
 * is said; a guess between them would send people to the wrong one. What
 * was freed again is in no book: a site whose blocks never live long is not seen here, and
 * does not leak either.
 */
#include "src/leak/analysis/likely.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hashmap.h"

struct guess {
	struct leak_group *group;
	uint32_t site;
	uint64_t place;
	bool many;
};
struct likely {
	const struct groups_input *input;
	struct types *types;
	struct guess *guess;	/* sorted by the size of their blocks */
	size_t count;
	struct hashmap first;	/* size -> the first guess of that size */
	struct hashmap judged;	/* (guess, site): was looked at */
	int error;
};

static bool is_same_type(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void judge(struct likely *l, size_t at, const struct analysis_known *known,
		  const struct block *block)
{
	struct guess *guess = &l->guess[at];
	uint64_t key = (uint64_t)at << 32 | known->site, seen;

	if (guess->many || (guess->site && guess->place == known->place) ||
	    hashmap_get(&l->judged, key, &seen))
		return;
	l->error = hashmap_put(&l->judged, key, 0);
	if (!is_same_type(guess->group->type, types_of(l->types, block->address, block->bytes)))
		return;
	guess->many = guess->site != 0;
	guess->site = known->site;
	guess->place = known->place;
}

static void look_at(void *context, const struct analysis_known *known)
{
	struct likely *l = context;
	struct block block;
	uint64_t at;

	if (l->error || !known->site ||
	    !blocks_find(l->input->blocks, known->address, &block) ||
	    block.address != known->address || !hashmap_get(&l->first, block.bytes, &at))
		return;
	for (; at < l->count && l->guess[at].group->size == block.bytes; at++)
		judge(l, at, known, &block);
}

static int by_size(const void *a, const void *b)
{
	const struct guess *x = a, *y = b;

	return (x->group->size > y->group->size) - (x->group->size < y->group->size);
}

/* Lost, of one size, and without a site. */
static int gather(struct likely *l, struct leak_report *report)
{
	int error = 0;

	l->guess = calloc(report->group_count + 1, sizeof(*l->guess));
	if (!l->guess)
		return -ENOMEM;
	for (size_t i = 0; i < report->group_count; i++) {
		struct leak_group *group = &report->group[i];

		if (group->verdict <= LEAK_POSSIBLY_LOST && !group->site && group->size)
			l->guess[l->count++].group = group;
	}
	qsort(l->guess, l->count, sizeof(*l->guess), by_size);
	for (size_t i = l->count; !error && i-- > 0;)
		error = hashmap_put(&l->first, l->guess[i].group->size, i);
	return error;
}

int likely_find(const struct groups_input *input, struct types *types, struct leak_report *report)
{
	struct likely l = { .input = input, .types = types };
	int error = input->each_known ? gather(&l, report) : 0;

	if (!error && l.count)
		input->each_known(input->context, look_at, &l);
	error = error ? error : l.error;
	for (size_t i = 0; !error && i < l.count; i++)
		if (!l.guess[i].many)
			l.guess[i].group->likely_site = l.guess[i].site;
	hashmap_done(&l.first);
	hashmap_done(&l.judged);
	free(l.guess);
	return error;
}
