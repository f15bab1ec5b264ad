/* SPDX-License-Identifier: MIT */
/*
 * threads_filter.c - see threads_filter.h. Figures may be forged: sums end at UINT64_MAX, and the
 * tables need not be in the order that memattach writes.
 */
#include "src/view/threads_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/view/view_metric.h"

/* 0: it is no number. */
static uint32_t number_of(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static bool is_wanted(const struct thread_row *row, const char *wanted, uint32_t number,
		      bool is_tid)
{
	if (!number)
		return strcmp(row->id.name, wanted) == 0;
	return is_tid ? row->id.tid == number : row->number == number;
}

static int ascending(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

int threads_choose(const struct thread_table *table, const char *wanted,
		   struct threads_choice *ret)
{
	struct threads_choice choice = { .table = table };
	uint32_t number = number_of(wanted);
	bool is_tid = number && !thread_table_find(table, number);

	choice.number = calloc(table->row_count + 1, sizeof(*choice.number));
	if (!choice.number)
		return -ENOMEM;
	for (size_t i = 0; i < table->row_count; i++)
		if (is_wanted(&table->row[i], wanted, number, is_tid))
			choice.number[choice.count++] = table->row[i].number;
	qsort(choice.number, choice.count, sizeof(*choice.number), ascending);
	*ret = choice;
	return 0;
}

void threads_choice_done(struct threads_choice *choice)
{
	free(choice->number);
	choice->number = NULL;
}

bool threads_chosen(const struct threads_choice *choice, uint32_t number)
{
	return choice->count && bsearch(&number, choice->number, choice->count,
					sizeof(*choice->number), ascending);
}

uint64_t threads_untold(const struct thread_table *table)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->part_count; i++)
		if (table->part[i].thread == 0)
			sum = view_sum(sum, table->part[i].alloc_count);
	return sum;
}

/* The first part of a site with this id or a larger one. */
static size_t first_part(const struct thread_table *table, uint32_t site)
{
	size_t low = 0, high = table->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->part[middle].site < site)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void threads_filter_add(struct snapshot_site *to, const struct thread_part *part)
{
	to->alloc_count = view_sum(to->alloc_count, part->alloc_count);
	to->alloc_bytes = view_sum(to->alloc_bytes, part->alloc_bytes);
	to->free_count = view_sum(to->free_count, part->free_count);
	to->live_count = view_sum(to->live_count, part->live_count);
	to->live_bytes = view_sum(to->live_bytes, part->live_bytes);
	to->temporary_count = view_sum(to->temporary_count, part->temporary_count);
	to->threads++;
}

bool threads_part(const struct threads_choice *choice, const struct snapshot_site *site,
		  struct snapshot_site *ret)
{
	const struct thread_table *table = choice->table;

	*ret = (struct snapshot_site){
		.id = site->id, .stack = site->stack, .kind = site->kind,
		.skip_frames = site->skip_frames, .verdict = site->verdict,
		.first_time = site->first_time, .last_time = site->last_time,
		.size_low = site->size_low, .size_high = site->size_high,
	};
	if (site->kind == SITE_MMAP)
		return false;
	for (size_t i = first_part(table, site->id);
	     i < table->part_count && table->part[i].site == site->id; i++)
		if (threads_chosen(choice, table->part[i].thread))
			threads_filter_add(ret, &table->part[i]);
	ret->live_bytes_low = ret->live_bytes_high = ret->live_bytes;
	return ret->threads > 0;
}
