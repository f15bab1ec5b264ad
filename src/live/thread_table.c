/* SPDX-License-Identifier: MIT */
/*
 * thread_table.c - see thread_table.h.
 *
 * Bounded for a recording's sake. What has no place is not left out: parts go to thread 0 of their
 * site, handovers to the pair (0, 0), so that sums stay whole; only rows beyond the bound are, and
 * total says how many.
 */
#include "src/live/thread_table.h"

#include <errno.h>
#include <string.h>

#include "src/live/pairs.h"

static struct thread_row row_of(const struct live *live, const struct ticks *ticks, uint32_t at)
{
	struct live_thread_figures from = live_thread_figures(live, at);

	return (struct thread_row){
		.number = at + 1u,
		.alloc_count = from.alloc_count, .alloc_bytes = from.alloc_bytes,
		.free_count = from.free_count, .free_bytes = from.free_bytes,
		.freed_others = from.freed_others, .freed_others_bytes = from.freed_others_bytes,
		.live_count = from.live_count, .live_bytes = from.live_bytes,
		.first = ticks_seconds(ticks, from.first), .last = ticks_seconds(ticks, from.last),
	};
}

static int by_bytes(const void *left, const void *right)
{
	const struct thread_row *a = left, *b = right;

	if (a->alloc_bytes != b->alloc_bytes)
		return a->alloc_bytes < b->alloc_bytes ? 1 : -1;
	if (a->free_bytes != b->free_bytes)
		return a->free_bytes < b->free_bytes ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int take_rows(const struct live *live, const struct ticks *ticks,
		     const struct thread_id *id, uint32_t id_count, struct thread_table *to)
{
	to->total = live_threads(live);
	to->row = calloc((size_t)to->total + 1, sizeof(*to->row));
	if (!to->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < to->total; i++) {
		to->row[i] = row_of(live, ticks, i);
		if (i < id_count)
			to->row[i].id = id[i];
	}
	qsort(to->row, to->total, sizeof(*to->row), by_bytes);
	to->row_count = to->total < THREAD_TABLE_ROWS ? to->total : THREAD_TABLE_ROWS;
	return 0;
}

/* The largest first. */
static int by_part_bytes(const void *left, const void *right)
{
	const struct thread_part *a = left, *b = right;

	if (a->alloc_bytes != b->alloc_bytes)
		return a->alloc_bytes < b->alloc_bytes ? 1 : -1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_site(const void *left, const void *right)
{
	const struct thread_part *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Where blocks were drawn of all that were allocated, more may seem freed. */
static uint64_t apart(uint64_t high, uint64_t low)
{
	return high > low ? high - low : 0;
}

static struct thread_part part_of(const struct pair *from)
{
	uint64_t seen = from->alloc_count - from->lost_count;

	return (struct thread_part){
		.site = from->site,
		.thread = from->thread == PAIRS_OTHERS ? 0 : from->thread + 1u,
		.alloc_count = estimate_level_count(from->alloc_count),
		.alloc_bytes = estimate_level_bytes(from->alloc_bytes),
		.free_count = estimate_level_count(from->free_count),
		.live_count = estimate_level_count(apart(seen, from->free_count)),
		.live_bytes = estimate_level_bytes(apart(from->alloc_bytes - from->lost_bytes,
							 from->free_bytes)),
		.temporary_count = from->temporary_count,
	};
}

static void add_part(struct thread_part *to, const struct thread_part *from)
{
	to->alloc_count += from->alloc_count;
	to->alloc_bytes += from->alloc_bytes;
	to->free_count += from->free_count;
	to->live_count += from->live_count;
	to->live_bytes += from->live_bytes;
	to->temporary_count += from->temporary_count;
}

/* Parts of the same site and thread, which stand next to each other, become one. */
static void join_parts(struct thread_table *to)
{
	size_t count = 0;

	for (size_t i = 0; i < to->part_count; i++) {
		if (count && by_site(&to->part[count - 1], &to->part[i]) == 0)
			add_part(&to->part[count - 1], &to->part[i]);
		else
			to->part[count++] = to->part[i];
	}
	to->part_count = count;
}

static int take_parts(const struct pairs *pairs, struct thread_table *to)
{
	size_t count;
	const struct pair *pair = pairs_all(pairs, &count);

	to->part = calloc(count + 1, sizeof(*to->part));
	if (!to->part)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to->part[i] = part_of(&pair[i]);
	qsort(to->part, count, sizeof(*to->part), by_part_bytes);
	for (size_t i = THREAD_TABLE_PARTS; i < count; i++)
		to->part[i].thread = 0;
	qsort(to->part, count, sizeof(*to->part), by_site);
	to->part_count = count;
	join_parts(to);
	return 0;
}

static int by_handover(const void *left, const void *right)
{
	const struct thread_handover *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->freer < b->freer ? -1 : a->freer > b->freer;
}

static struct thread_handover handover_of(const struct handover *from)
{
	return (struct thread_handover){
		.owner = from->owner + 1u, .freer = from->freer + 1u,	/* PAIRS_OTHERS: 0 */
		.count = estimate_level_count(from->count),
		.bytes = estimate_level_bytes(from->bytes),
	};
}

static int take_handovers(const struct pairs *pairs, struct thread_table *to)
{
	struct handover rest;
	size_t count;
	const struct handover *from = pairs_handovers(pairs, &count, &rest);
	struct thread_handover others;

	to->handover = calloc(count + 1, sizeof(*to->handover));
	if (!to->handover)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to->handover[i] = handover_of(&from[i]);
	qsort(to->handover, count, sizeof(*to->handover), by_handover);
	others = handover_of(&rest);
	for (; count >= THREAD_TABLE_HANDOVERS; count--) {
		others.count += to->handover[count - 1].count;
		others.bytes += to->handover[count - 1].bytes;
	}
	if (others.count)
		to->handover[count++] = others;
	to->handover_count = count;
	return 0;
}

int thread_table_take(const struct live *live, const struct ticks *ticks,
		      const struct thread_id *id, uint32_t id_count, struct thread_table **ret)
{
	struct thread_table *table = calloc(1, sizeof(*table));

	if (!table || take_rows(live, ticks, id, id_count, table) < 0 ||
	    take_parts(live_pairs(live), table) < 0 ||
	    take_handovers(live_pairs(live), table) < 0) {
		thread_table_free(table);
		return -ENOMEM;
	}
	*ret = table;
	return 0;
}

void thread_table_free(struct thread_table *table)
{
	if (!table)
		return;
	free(table->row);
	free(table->part);
	free(table->handover);
	free(table);
}

const struct thread_row *thread_table_find(const struct thread_table *table, uint32_t number)
{
	for (size_t i = 0; i < table->row_count; i++)
		if (table->row[i].number == number)
			return &table->row[i];
	return NULL;
}
