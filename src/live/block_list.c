/* SPDX-License-Identifier: MIT */
/*
 * block_list.c - see block_list.h.
 *
 * A heap whose root is the least of those kept: one pass over millions of blocks takes memory for
 * those alone that stay. The largest are kept since they are what is looked for; small ones are
 * told apart by their sites.
 */
#include "src/live/block_list.h"

#include <errno.h>

struct taking {
	struct block_list *list;
	const struct ticks *ticks;
};

/* Is a to stand before b? By size, then age, then address: the same in every run. */
static bool is_before(const struct listed_block *a, const struct listed_block *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	if (a->born < b->born || a->born > b->born)
		return a->born < b->born;
	return a->address < b->address;
}

static int compare(const void *left, const void *right)
{
	return is_before(left, right) ? -1 : is_before(right, left);
}

static void swap(struct listed_block *a, struct listed_block *b)
{
	struct listed_block old = *a;

	*a = *b;
	*b = old;
}

/* The parent of each is behind it in the order. */
static void rise(struct listed_block *block, size_t at)
{
	for (; at > 0 && is_before(&block[(at - 1) / 2], &block[at]); at = (at - 1) / 2)
		swap(&block[(at - 1) / 2], &block[at]);
}

static void sink(struct listed_block *block, size_t count)
{
	for (size_t at = 0, next; (next = 2 * at + 1) < count; at = next) {
		if (next + 1 < count && is_before(&block[next], &block[next + 1]))
			next++;
		if (!is_before(&block[at], &block[next]))
			break;
		swap(&block[at], &block[next]);
	}
}

static void add_block(void *context, const struct live_block *from)
{
	const struct taking *t = context;
	struct block_list *list = t->list;
	struct listed_block block = {
		.address = from->address, .size = from->size, .site = from->site,
		.born = ticks_seconds(t->ticks, from->time), .weight = from->weight,
		.thread = from->thread + 1u,
	};

	if (list->count < BLOCK_LIST_MAX) {
		list->block[list->count] = block;
		rise(list->block, list->count++);
	} else if (is_before(&block, &list->block[0])) {
		list->block[0] = block;
		sink(list->block, list->count);
	}
}

int block_list_take(const struct live *live, const struct ticks *ticks, struct block_list **ret)
{
	struct taking t = { .list = calloc(1, sizeof(*t.list)), .ticks = ticks };

	if (t.list)
		t.list->block = calloc(BLOCK_LIST_MAX, sizeof(*t.list->block));
	if (!t.list || !t.list->block) {
		block_list_free(t.list);
		return -ENOMEM;
	}
	live_each(live, add_block, &t);
	qsort(t.list->block, t.list->count, sizeof(*t.list->block), compare);
	*ret = t.list;
	return 0;
}

void block_list_free(struct block_list *list)
{
	if (!list)
		return;
	free(list->block);
	free(list);
}
