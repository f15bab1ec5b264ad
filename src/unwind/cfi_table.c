/* SPDX-License-Identifier: MIT */
/*
 * cfi_table.c - a module's call frame information, compiled to rows of rules.
 *
 * The truth is unwinder_walk(): for every address, what it would do there is
 * either said by a rule or the row is RULES_COPY. It asks the search table and
 * libunwind first, libdw about .eh_frame and .debug_frame next, and ends where
 * nobody knows anything. So does this, in that order, for ranges of code instead
 * of addresses:
 *	1. spans of the search table, or, without one, of .eh_frame;
 *	2. between them spans of .debug_frame;
 *	3. what is left has no call frame information: RULES_CUT.
 * Wherever the answers depend on more than the address (FDEs that overlap,
 * entries that can't be understood), there is RULES_COPY: it is always right.
 * Compiling on demand, an address at a time, was rejected: the first event at
 * each of thousands of places would have to be a copy, and then be waited for.
 */
#include "src/unwind/cfi_table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "src/base/array.h"
#include "src/unwind/cfi_list.h"
#include "src/unwind/cfi_rule_publish.h"
#include "src/unwind/cfi_search.h"
#include "src/unwind/cfi_sections.h"
#include "src/unwind/signal_return.h"

#define MAX_CODE	(1ull << 32)
/* Bytes of instructions, a fraction of a second's work. Hostile FDEs may share theirs. */
#define MAX_WORK	(1ull << 26)

struct builder {
	const struct module *module;
	struct rule_set *set;
	struct cfi_table table;
	size_t room;
	struct cfi_cache cache;
	struct cfi_sections sections;
	struct cfi_list frame, debug;
	uint64_t work;
	uint64_t from, to;		/* of the FDE that is being compiled */
};

void cfi_table_done(struct cfi_table *table)
{
	free(table->row);
	free(table->index);
	*table = (struct cfi_table){ 0 };
}

uint32_t cfi_table_find(const struct cfi_table *table, uint64_t address)
{
	uint64_t at = address - table->low;
	size_t row;

	if (address < table->low || address >= table->high)
		return RULE_SET_COPY;
	row = ARRAY_BISECT(table->row_count, i, table->row[i].start <= at);
	return row == 0 ? RULE_SET_COPY : table->row[row - 1].rule;
}

/* ---- rows ---- */

/* From address on there is rule. Each address comes after the one before. */
static int put(struct builder *builder, uint64_t address, uint32_t rule)
{
	struct cfi_table *table = &builder->table;
	uint64_t start = address > table->low ? address - table->low : 0;
	struct rules_row *grown;

	if (address >= table->high)
		return 0;
	if (table->row_count > 0 && table->row[table->row_count - 1].rule == rule)
		return 0;
	if (table->row_count == CFI_TABLE_MAX_ROWS)
		return -E2BIG;
	grown = array_room(table->row, sizeof(*grown), table->row_count, &builder->room);
	if (!grown)
		return -ENOMEM;
	table->row = grown;
	table->row[table->row_count++] = (struct rules_row){ (uint32_t)start, rule };
	return 0;
}

static int put_row(void *context, const struct cfi_row *row)
{
	struct builder *builder = context;
	struct rules_rule rule;

	if (row->end <= builder->from)
		return 0;
	if (row->start >= builder->to)
		return 1;	/* the rest is another FDE's */
	rule = cfi_rule_publish(row->rule);
	return put(builder, row->start > builder->from ? row->start : builder->from,
		   rule_set_add(builder->set, &rule));
}

/* What there was before a range was begun that turns out to be worth nothing. */
static int take_back(struct builder *builder, uint64_t from)
{
	struct cfi_table *table = &builder->table;

	while (table->row_count > 0 && table->low + table->row[table->row_count - 1].start >= from)
		table->row_count--;
	return put(builder, from, RULE_SET_COPY);
}

/* ---- FDEs ---- */

/* 0, -EOPNOTSUPP or -EBADMSG: nothing is known of [from, to); -E2BIG, -ENOMEM. */
static int compile(struct builder *builder, const struct cfi_list *list,
		   const struct cfi_span *span)
{
	struct cfi_fde_program program = { .start = span->start, .end = span->end };
	const struct cfi_cached *cached;
	struct cfi_head head;
	uint64_t start, end;
	int r = cfi_entry_head(&list->source, span->fde, &head);

	if (r < 0)
		return r;
	cached = cfi_cache_get(&builder->cache, &list->source, head.cie);
	if (cached->result < 0 || cached->initial_result < 0)
		return -EOPNOTSUPP;
	r = cfi_entry_range(&cached->cie, &head, &start, &end);
	if (r < 0)
		return r;
	builder->work += (uint64_t)(head.rest.end - head.rest.at);
	if (builder->work > MAX_WORK)
		return -E2BIG;
	program.cie = &cached->cie;
	program.initial = &cached->initial;
	program.bytes = head.rest;
	r = cfi_rows_each(&program, put_row, builder);
	return r > 0 ? 0 : r;
}

/* The rows of span within [from, to). */
static int put_span(struct builder *builder, const struct cfi_list *list,
		    const struct cfi_span *span)
{
	int r = span->odd ? -EOPNOTSUPP : compile(builder, list, span);

	return r == -EOPNOTSUPP || r == -EBADMSG ? take_back(builder, builder->from) : r;
}

/* ---- code without FDEs ---- */

/*
 * The walk ends in [from, to), unless a signal handler returns through there: the
 * walker knows that by the instructions, which follow the return address less one.
 */
static int put_nothing(struct builder *builder, uint64_t from, uint64_t to)
{
	bool cut = from < to && !signal_return_within(builder->module, from + 1, to + 1);

	return put(builder, from, cut ? RULE_SET_CUT : RULE_SET_COPY);
}

/* ---- lists ---- */

/* A range of code that is filled from a list, and where that has nothing by gap(). */
struct window {
	struct builder *builder;
	const struct cfi_list *list;
	int (*gap)(struct builder *builder, uint64_t from, uint64_t to);
	uint64_t at, to;	/* what is still to be filled */
};

/* Up to address there is no span; reach: of the one before. */
static int fill_gap(struct window *window, uint64_t reach, uint64_t address)
{
	uint64_t known = reach < address ? reach : address;
	int r = 0;

	/* Below reach there is a span that a search does not find, or only sometimes. */
	if (window->at < known) {
		r = put(window->builder, window->at, RULE_SET_COPY);
		window->at = known;
	}
	if (r == 0 && window->at < address)
		r = window->gap(window->builder, window->at, address);
	window->at = address;
	return r;
}

/* The span and what comes before it. Of several that overlap, the last to start counts. */
static int fill_span(struct window *window, size_t i)
{
	const struct cfi_list *list = window->list;
	const struct cfi_span *span = &list->span[i];
	struct builder *builder = window->builder;
	uint64_t end = span->end;
	int r = 0;

	if (i + 1 < list->count && span[1].start < end)
		end = span[1].start;
	if (end > window->to)
		end = window->to;
	if (span->start > window->at)
		r = fill_gap(window, i > 0 ? span[-1].reach : 0,
			     span->start < window->to ? span->start : window->to);
	if (r < 0 || window->at >= end)
		return r;
	builder->from = window->at;
	builder->to = end;
	window->at = end;
	return put_span(builder, list, span);
}

/* The first span that says something about window->at, or starts above it. */
static size_t first_span(const struct window *window)
{
	const struct cfi_list *list = window->list;
	size_t reaching = ARRAY_BISECT(list->count, i, list->span[i].reach <= window->at);
	size_t above = ARRAY_BISECT(list->count, i, list->span[i].start <= window->at);

	return above > 0 && above - 1 < reaching ? above - 1 : reaching;
}

static int fill(struct window *window)
{
	const struct cfi_list *list = window->list;
	size_t i = first_span(window);
	uint64_t reach = list->count > 0 ? list->span[list->count - 1].reach : 0;
	int r = 0;

	if (list->broken)
		return put(window->builder, window->at, RULE_SET_COPY);
	for (; i < list->count && r == 0 && window->at < window->to; i++)
		r = fill_span(window, i);
	if (r == 0 && window->at < window->to)
		r = fill_gap(window, reach, window->to);
	return r;
}

static int fill_from_debug(struct builder *builder, uint64_t from, uint64_t to)
{
	struct window window = {
		.builder = builder, .list = &builder->debug, .gap = put_nothing,
		.at = from, .to = to,
	};

	return fill(&window);
}

static int fill_all(struct builder *builder)
{
	struct window window = {
		.builder = builder, .list = &builder->frame, .gap = fill_from_debug,
		.at = builder->table.low, .to = builder->table.high,
	};

	return fill(&window);
}

/* ---- the module ---- */

/* The extent of what can be executed and is in the file. */
static int find_code(const struct module *module, struct cfi_table *table)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < module->segment_count && module->file; i++) {
		const struct module_segment *segment = &module->segment[i];
		uint64_t end = segment->address + segment->file_bytes;

		if (!(segment->flags & PF_X) || segment->file_bytes == 0)
			continue;
		if (segment->address < low)
			low = segment->address;
		if (end > high)
			high = end;
	}
	if (low >= high)
		return -ENOENT;
	table->low = low;
	table->high = high;
	return high - low >= MAX_CODE ? -E2BIG : 0;
}

/* .eh_frame without a table: as libdw finds it, by its section. */
static int list_frame(struct builder *builder)
{
	const struct cfi_sections *sections = &builder->sections;
	int r = cfi_list_from_table(&builder->frame, builder->module);

	if (r != -ENOENT)
		return r;
	if (sections->eh_frame)
		return cfi_list_from_section(&builder->frame, sections->eh_frame_address,
					     sections->eh_frame_bytes, true);
	/* A header all the same: a table of another kind, or a file without sections. */
	builder->frame.broken = builder->module->eh_frame_hdr != 0 || sections->unclear;
	return 0;
}

static int list_debug(struct builder *builder)
{
	const struct cfi_sections *sections = &builder->sections;

	builder->debug.source.bytes = sections->debug;
	builder->debug.source.size = sections->debug_bytes;
	builder->debug.broken = sections->unclear || (sections->debug_frame && !sections->debug);
	if (!sections->debug)
		return 0;
	return cfi_list_from_section(&builder->debug, 0, sections->debug_bytes, true);
}

static int make_index(struct cfi_table *table)
{
	uint64_t bytes = table->high - table->low;
	uint32_t row = 0;

	table->index_count = (uint32_t)((bytes - 1) >> RULES_PAGE_LOG2) + 2;
	table->index = calloc(table->index_count, sizeof(*table->index));
	if (!table->index)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->index_count; i++) {
		while (row + 1 < table->row_count &&
		       table->row[row + 1].start <= (uint64_t)i << RULES_PAGE_LOG2)
			row++;
		table->index[i] = row;
	}
	return 0;
}

static void trim(struct cfi_table *table)
{
	struct rules_row *row = reallocarray(table->row, table->row_count, sizeof(*row));

	if (row)
		table->row = row;
}

static int build(struct builder *builder)
{
	int r = find_code(builder->module, &builder->table);

	if (r == 0)
		r = cfi_sections_find(builder->module, &builder->sections);
	if (r == 0)
		r = list_frame(builder);
	if (r == 0)
		r = list_debug(builder);
	if (r == 0)
		r = fill_all(builder);
	if (r < 0)
		return r;
	trim(&builder->table);
	return make_index(&builder->table);
}

int cfi_table_build(const struct module *module, struct rule_set *set, struct cfi_table *ret)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	int r;

	if (!builder)
		return -ENOMEM;
	builder->module = module;
	builder->set = set;
	builder->frame.source.module = builder->debug.source.module = module;
	builder->frame.cache = builder->debug.cache = &builder->cache;
	r = build(builder);
	if (r == 0)
		*ret = builder->table;
	else
		cfi_table_done(&builder->table);
	cfi_list_done(&builder->frame);
	cfi_list_done(&builder->debug);
	cfi_sections_done(&builder->sections);
	free(builder);
	return r;
}
