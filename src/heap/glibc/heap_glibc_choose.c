/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_choose.c - which of many places that look like a block with a mapping of its own are.
 *
 * A page that begins with two words of a program's own may look like a header (a JVM's metaspace
 * does). How many blocks there are and how large they are together is known, and where a mapping
 * begins or ends, or another such block does, one is likelier. So they are added up, the likelier
 * ones first, until both numbers are met by blocks that do not overlap.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_WORK = 1 << 26 };	/* tries times places: a tenth of a second */

struct place {
	struct glibc_mapped block;
	unsigned int likely;
	bool taken;
};

struct choice {
	struct place *place;
	/* Of this one and all behind it. */
	uint64_t *least, *most;
	size_t count;
	uint64_t wanted, bytes;
	bool drifts;		/* bytes is an upper limit */
	uint64_t taken, sum;
};

static uint64_t size_of(const struct place *place)
{
	return place->block.end - place->block.base;
}

static int by_likely(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->likely != y->likely)
		return x->likely > y->likely ? -1 : 1;
	return x->block.base < y->block.base ? -1 : x->block.base > y->block.base;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool is_there(const uint64_t *sorted, size_t count, uint64_t address)
{
	return bsearch(&address, sorted, count, sizeof(address), by_address) != NULL;
}

/* mmap gives what lies right below what it gave before, so that one's end is another's begin. */
static void weigh(struct choice *c, const struct procmaps *maps, const uint64_t *base,
		  const uint64_t *end)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct glibc_mapped *b = &c->place[i].block;
		const struct procmap *first = procmaps_find(maps, b->base);
		const struct procmap *last = procmaps_find(maps, b->end - 1);

		c->place[i].likely = (first && first->start == b->base ? 1u : 0) +
				     (last && last->end == b->end ? 1u : 0) +
				     (first == last ? 1u : 0) +
				     (is_there(base, c->count, b->end) ? 1u : 0) +
				     (is_there(end, c->count, b->base) ? 1u : 0);
	}
}

static int weigh_all(struct choice *c, const struct procmaps *maps)
{
	uint64_t *base = malloc(2 * c->count * sizeof(*base)), *end;

	if (!base)
		return -ENOMEM;
	end = base + c->count;
	for (size_t i = 0; i < c->count; i++) {
		base[i] = c->place[i].block.base;
		end[i] = c->place[i].block.end;
	}
	qsort(base, c->count, sizeof(*base), by_address);
	qsort(end, c->count, sizeof(*end), by_address);
	weigh(c, maps, base, end);
	free(base);
	qsort(c->place, c->count, sizeof(*c->place), by_likely);
	return 0;
}

static void bound(struct choice *c)
{
	for (size_t i = c->count; i-- > 0;) {
		uint64_t size = size_of(&c->place[i]);
		bool last = i + 1 == c->count;

		c->least[i] = last || size < c->least[i + 1] ? size : c->least[i + 1];
		c->most[i] = last || size > c->most[i + 1] ? size : c->most[i + 1];
	}
}

/* May those from i on make up for what is missing? */
static bool may_do(const struct choice *c, size_t i)
{
	uint64_t missing = c->wanted - c->taken, left = c->bytes - c->sum;

	return c->count - i >= missing && (!missing || left / missing >= c->least[i]) &&
	       (c->drifts || left <= missing * c->most[i]);
}

static bool is_free(const struct choice *c, size_t i)
{
	const struct glibc_mapped *b = &c->place[i].block;

	if (size_of(&c->place[i]) > c->bytes - c->sum)
		return false;
	for (size_t k = 0; k < i; k++)
		if (c->place[k].taken && c->place[k].block.base < b->end &&
		    b->base < c->place[k].block.end)
			return false;
	return true;
}

static void heap_glibc_choose_take(struct choice *c, size_t i, bool taken)
{
	uint64_t size = size_of(&c->place[i]);

	c->place[i].taken = taken;
	c->taken += taken ? 1 : -1ull;
	c->sum += taken ? size : -size;
}

/* The last one that was taken, or c->count. */
static size_t last_taken(const struct choice *c, size_t i)
{
	while (i-- > 0)
		if (c->place[i].taken)
			return i;
	return c->count;
}

/* Depth first: what is likelier is given up last. */
static bool choose(struct choice *c)
{
	size_t i = 0, tries = MAX_WORK / c->count;

	while (tries-- > 0) {
		if (c->taken == c->wanted && (c->sum == c->bytes || c->drifts))
			return true;
		if (i < c->count && c->taken < c->wanted && may_do(c, i)) {
			if (is_free(c, i))
				heap_glibc_choose_take(c, i, true);
			i++;
			continue;
		}
		i = last_taken(c, i);
		if (i == c->count)
			return false;
		heap_glibc_choose_take(c, i++, false);
	}
	return false;
}

static void hand_over(const struct choice *c, struct glibc *glibc)
{
	glibc->mapped_count = 0;
	for (size_t i = 0; i < c->count; i++)
		if (c->place[i].taken)
			glibc->mapped[glibc->mapped_count++] = c->place[i].block;
}

int glibc_choose_mapped(struct glibc *glibc)
{
	struct choice c = { .count = glibc->mapped_count, .wanted = glibc->n_mmaps,
			    .bytes = glibc->mmapped_mem, .drifts = glibc->par->drifts };
	int r = -ENOMEM;

	if (c.count < c.wanted || c.count == 0)
		return 0;
	c.place = calloc(c.count, sizeof(*c.place));
	c.least = calloc(2 * c.count, sizeof(*c.least));
	if (c.place && c.least) {
		c.most = c.least + c.count;
		for (size_t i = 0; i < c.count; i++)
			c.place[i].block = glibc->mapped[i];
		r = weigh_all(&c, &glibc->picture->maps);
	}
	if (r == 0) {
		bound(&c);
		if (choose(&c))
			hand_over(&c, glibc);
	}
	free(c.place);
	free(c.least);
	return r;
}
