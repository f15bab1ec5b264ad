/* SPDX-License-Identifier: MIT */
/*
 * counts_sum.c - see counts_sum.h and counts_abi.h.
 *
 * All counters only grow, so each reading makes the sums from nothing: there is no difference to
 * go wrong. A table is looked at where its map says that something is in it: the rest of the
 * memory was never touched, and reading it would make pages of it.
 *
 * An entry's count is read before what it is of (acquire), which the shim stores before
 * the count.
 */
#include "src/counts/counts_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hashmap.h"

#define MAX_SIZES 16384u
#define MOST_BYTES (1ull << 53)	/* documents have numbers up to there */

struct counts {
	enum counts_kind kind;
	const uint64_t *owner;
	const uint8_t *block;
	uint64_t slots, block_bytes;
	const struct counts_shared *shared;
	struct counts_sums sums;
	struct counts_rest unplaced;	/* by counts_add */
	uint64_t small[COUNTS_SMALL];
	struct hashmap sizes;		/* of COUNTS_SMALL or more -> count */
	struct hashmap rows;		/* counts_path.key -> index in row */
	uint64_t most;			/* calls that there can have been */
	uint64_t sized;			/* calls in all bars, in this reading */
	struct counts_rest placed;	/* in all rows, likewise */
	bool corrupt;
	struct counts_row *row;
	size_t row_count, row_room;
};

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Counters are the target's, which may have written over them: what can't be is left out. */
static bool take(struct counts *c, uint64_t *sum, uint64_t most, uint64_t value)
{
	if (value > most || *sum > most - value) {
		c->corrupt = true;
		return false;
	}
	*sum += value;
	return true;
}

static void take_calls(struct counts *c, uint64_t *sum, const uint64_t *counter)
{
	(void)take(c, sum, c->most, load(counter));
}

static void take_bytes(struct counts *c, uint64_t *sum, const uint64_t *counter)
{
	(void)take(c, sum, MOST_BYTES, load(counter));
}

/* Where everything is, held against the size of the mapping once: then copies are used. */
int counts_new(const void *mapping, size_t bytes, struct counts **ret)
{
	const struct ring_control *control = mapping;
	uint64_t at = load(&control->counts_offset), slots = load(&control->counts_slots);
	const struct counts_head *head;
	uint64_t kind, need;
	struct counts *c;

	if (at < RING_CONTROL_BYTES || at % RING_LINE || at > bytes ||
	    bytes - at < sizeof(*head) || slots == 0 || slots > bytes / sizeof(uint64_t) ||
	    (slots & (slots - 1)))
		return -EBADMSG;
	head = (const void *)((const uint8_t *)mapping + at);
	kind = load(&head->kind);
	if (kind == COUNTS_NONE || kind >= COUNTS_KINDS)
		return -EBADMSG;
	need = sizeof(*head) + slots * (sizeof(uint64_t) + counts_block_bytes((uint32_t)kind)) +
	       counts_shared_bytes((uint32_t)kind);
	if (need > bytes - at)
		return -EBADMSG;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = (enum counts_kind)kind;
	c->owner = (const uint64_t *)(head + 1);
	c->block = (const uint8_t *)(c->owner + slots);
	c->slots = slots;
	c->block_bytes = counts_block_bytes((uint32_t)kind);
	c->shared = (const void *)(c->block + slots * c->block_bytes);
	*ret = c;
	return 0;
}

void counts_free(struct counts *c)
{
	if (!c)
		return;
	hashmap_done(&c->sizes);
	hashmap_done(&c->rows);
	free(c->row);
	free(c);
}

enum counts_kind counts_kind(const struct counts *c)
{
	return c->kind;
}

static void add_totals(struct counts *c, const struct counts_totals *from)
{
	struct counts_totals *sum = &c->sums.totals;

	take_calls(c, &sum->alloc_count, &from->alloc_count);
	take_bytes(c, &sum->alloc_bytes, &from->alloc_bytes);
	take_bytes(c, &sum->alloc_usable, &from->alloc_usable);
	take_calls(c, &sum->alloc_unsized, &from->alloc_unsized);
	take_calls(c, &sum->free_count, &from->free_count);
	take_bytes(c, &sum->free_usable, &from->free_usable);
	take_calls(c, &sum->free_unsized, &from->free_unsized);
}

static void add_rest(struct counts *c, struct counts_rest *sum, const struct counts_rest *from)
{
	take_calls(c, &sum->count, &from->count);
	take_bytes(c, &sum->bytes, &from->bytes);
}

static void read_totals(struct counts *c)
{
	c->sums = (struct counts_sums){ .paths_left = c->unplaced };
	add_rest(c, &c->sums.sizes_left, &c->shared->sizes_left);
	add_rest(c, &c->sums.paths_left, &c->shared->paths_left);
	for (uint32_t i = 0; i < COUNTS_LINES; i++)
		add_totals(c, &c->shared->totals[i]);
	c->sums.shared_count = c->sums.totals.alloc_count;
	for (uint64_t i = 0; i < c->slots; i++) {
		const struct counts_block *block = (const void *)(c->block + i * c->block_bytes);

		if (load(&c->owner[i]))
			add_totals(c, &block->totals);
	}
}

/* Steps through the places of a table of `places` entries of so many bytes that may hold any. */
static bool map_next(const uint64_t *map, uint64_t places, uint64_t bytes, uint64_t *place)
{
	uint64_t a_page = COUNTS_PAGE / bytes;

	while (*place < places) {
		uint64_t page = *place / a_page;

		if (load(&map[page / 64]) >> (page % 64) & 1)
			return true;
		*place = (page + 1) * a_page;
	}
	return false;
}

static int add_size(struct counts *c, uint64_t size, uint64_t count)
{
	uint64_t sum = 0;

	if (!take(c, &c->sized, c->most, count))
		return 0;
	if (size < COUNTS_SMALL) {	/* that is nothing that the shim puts there */
		c->small[size] += count;
		return 0;
	}
	if (!hashmap_get(&c->sizes, size, &sum) && hashmap_count(&c->sizes) >= MAX_SIZES) {
		size = counts_step_low(counts_step(size) + 1) - 1;
		(void)hashmap_get(&c->sizes, size, &sum);
	}
	return hashmap_put(&c->sizes, size, sum + count);
}

static int read_size_table(struct counts *c, const struct counts_size *size, uint64_t places,
			   const uint64_t *map)
{
	int error = 0;

	for (uint64_t i = 0; !error && map_next(map, places, sizeof(*size), &i); i++) {
		uint64_t count = load(&size[i].count), key = load(&size[i].key);

		c->corrupt |= key > MOST_BYTES;
		if (key && key <= MOST_BYTES && count)
			error = add_size(c, key - 1, count);
	}
	return error;
}

static void add_small(struct counts *c, const uint64_t *small)
{
	for (uint32_t i = 0; i < COUNTS_SMALL; i++)
		(void)add_size(c, i, load(&small[i]));
}

static int read_sizes(struct counts *c)
{
	int error;

	c->sized = 0;
	memset(c->small, 0, sizeof(c->small));
	hashmap_done(&c->sizes);
	memset(&c->sizes, 0, sizeof(c->sizes));
	add_small(c, c->shared->small);
	error = read_size_table(c, c->shared->size, COUNTS_SHARED_SIZES, c->shared->size_map);
	for (uint64_t i = 0; !error && i < c->slots; i++) {
		const struct counts_block *block = (const void *)(c->block + i * c->block_bytes);

		if (!load(&c->owner[i]))
			continue;
		add_small(c, block->small);
		error = read_size_table(c, block->size, COUNTS_SIZES, block->size_map);
	}
	return error;
}

/*
 * The row of key, made if it is new. -ENOMEM; -ENOSPC: there are as many as there ever were places,
 * so that somebody else writes there, too.
 */
static int row_of(struct counts *c, uint64_t key, uint64_t detail, struct counts_row **ret)
{
	uint64_t index;

	if (hashmap_get(&c->rows, key, &index)) {
		*ret = &c->row[index];
		return 0;
	}
	if (c->row_count >= c->slots * COUNTS_PATHS + COUNTS_SHARED_PATHS)
		return -ENOSPC;
	if (c->row_count == c->row_room) {
		size_t room = c->row_room ? c->row_room * 2 : 256;
		struct counts_row *row = reallocarray(c->row, room, sizeof(*row));

		if (!row)
			return -ENOMEM;
		c->row = row;
		c->row_room = room;
	}
	if (hashmap_put(&c->rows, key, c->row_count) < 0)
		return -ENOMEM;
	c->row[c->row_count] = (struct counts_row){
		.path = counts_path_of(key, detail),
		.by_caller = (detail & COUNTS_BY_CALLER) != 0,
		.step = counts_detail_step(detail) % COUNTS_STEPS,
	};
	*ret = &c->row[c->row_count++];
	return 0;
}

/* Its key is of no path that could be told from others. */
int counts_add(struct counts *c, uint32_t mark, uint64_t size)
{
	uint64_t detail = counts_detail(size, false);
	struct counts_row *row;
	int error = row_of(c, counts_path_key(mark, detail), detail, &row);

	if (error == -ENOSPC) {
		c->unplaced.count++;
		c->unplaced.bytes += size;
		return 0;
	}
	if (error)
		return error;
	row->added = true;
	row->mark = mark;
	row->count++;
	row->bytes += size;
	return 0;
}

static int read_path_table(struct counts *c, const struct counts_path *path, uint64_t places,
			   const uint64_t *map)
{
	for (uint64_t i = 0; map_next(map, places, sizeof(*path), &i); i++) {
		uint64_t count = __atomic_load_n(&path[i].count, __ATOMIC_ACQUIRE);
		uint64_t size = load(&path[i].bytes);
		struct counts_row *row;
		int error;

		if (count == 0 || !take(c, &c->placed.count, c->most, count) ||
		    !take(c, &c->placed.bytes, MOST_BYTES, size))
			continue;
		error = row_of(c, load(&path[i].key), load(&path[i].detail), &row);
		if (error == -ENOMEM)
			return error;
		if (error) {
			c->sums.paths_left.count += count;
			c->sums.paths_left.bytes += size;
			continue;
		}
		row->count += count;
		row->bytes += size;
	}
	return 0;
}

static int read_paths(struct counts *c)
{
	int error;

	c->placed = (struct counts_rest){ 0, 0 };
	for (size_t i = 0; i < c->row_count; i++)
		if (!c->row[i].added)
			c->row[i].count = c->row[i].bytes = 0;
	error = read_path_table(c, c->shared->path, COUNTS_SHARED_PATHS, c->shared->path_map);
	for (uint64_t i = 0; !error && i < c->slots; i++) {
		const struct counts_block *block = (const void *)(c->block + i * c->block_bytes);

		if (load(&c->owner[i]))
			error = read_path_table(c, block->path, COUNTS_PATHS, block->path_map);
	}
	return error;
}

int counts_read(struct counts *c, uint64_t most)
{
	int error = 0;

	c->most = most;
	read_totals(c);
	if (c->kind >= COUNTS_HISTOGRAM)
		error = read_sizes(c);
	if (!error && c->kind >= COUNTS_SITES)
		error = read_paths(c);
	return error;
}

bool counts_are_corrupt(const struct counts *c)
{
	return c->corrupt;
}

const struct counts_sums *counts_sums(const struct counts *c)
{
	return &c->sums;
}

struct bars {
	uint64_t *size;
	size_t count;
};

static void add_bar(void *context, uint64_t size, uint64_t count)
{
	struct bars *bars = context;

	(void)count;
	bars->size[bars->count++] = size;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Out of memory for the order of the large ones: they are left out. */
static size_t large_sizes(const struct counts *c,
			  void (*each)(void *context, uint64_t size, uint64_t count), void *context)
{
	_cleanup_free_ uint64_t *size = calloc(hashmap_count(&c->sizes) + 1, sizeof(*size));
	struct bars bars = { .size = size };
	uint64_t count = 0;

	if (!size)
		return 0;
	hashmap_each(&c->sizes, add_bar, &bars);
	qsort(size, bars.count, sizeof(*size), by_size);
	for (size_t i = 0; i < bars.count; i++) {
		(void)hashmap_get(&c->sizes, size[i], &count);
		each(context, size[i], count);
	}
	return bars.count;
}

size_t counts_sizes(const struct counts *c,
		    void (*each)(void *context, uint64_t size, uint64_t count), void *context)
{
	size_t bars = 0;

	for (uint32_t i = 0; i < COUNTS_SMALL; i++) {
		if (!c->small[i])
			continue;
		bars++;
		if (each)
			each(context, i, c->small[i]);
	}
	return bars + (each ? large_sizes(c, each, context) : hashmap_count(&c->sizes));
}

size_t counts_rows(const struct counts *c)
{
	return c->row_count;
}

struct counts_row *counts_row(struct counts *c, size_t index)
{
	return &c->row[index];
}
