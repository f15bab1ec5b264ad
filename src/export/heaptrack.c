/* SPDX-License-Identifier: MIT */
/*
 * heaptrack.c - heaptrack's file format, version 3: events over time, made from how the sites stood
 * at each moment of the recording.
 *
 * A recording has no events any more. Between two moments a site's allocations get its mean size
 * in that time, and so do its frees: calls, bytes, leaks and temporary allocations add up to the
 * recording's figures, sizes of single blocks are means. Of each moment frees come first and what
 * stays comes last, so that heaptrack's peak is that of the moments, among which the true peak is.
 * A temporary block that lived at a moment (heaptrack_torn.h) is allocated last before it and freed
 * first after it.
 *
 * heaptrack takes a free right behind the allocation of its kind for a temporary allocation: other
 * frees have kinds of their own. heaptrack_gui wants kinds of allocations in the order in which
 * they first come, so all moments are gone through once to learn them, then to write.
 *
 * One line an event: beyond MOST_EVENTS, several blocks are written as one, and a comment says so.
 */
#include <errno.h>
#include <math.h>

#include "src/export/export.h"
#include "src/export/export_levels.h"
#include "src/export/export_text.h"
#include "src/export/heaptrack_torn.h"
#include "src/export/heaptrack_trace.h"

#define MOST_EVENTS	(20u << 20)
#define PAGE		4096u	/* unit of RSS in the file */

/* Of one site from one moment to the next: blocks and bytes that come, go, and do both at once. */
struct change {
	uint32_t stack;
	bool out;		/* one more block comes last, */
	uint64_t out_bytes;	/* of this size */
	struct blocks alloc, free, temporary;
};
struct heaptrack {
	FILE *out;
	const struct export_input *input;
	struct heaptrack_trace trace;
	struct export_levels levels;
	unsigned __int128 events;	/* that blocks would make; may be forged */
	uint64_t merge;		/* blocks an event */
	bool writing;		/* events; before, only their kinds are learnt */
	uint32_t *stack;	/* by index of site; 0: not written yet */
	uint64_t *temporary;	/* by index of site: those left to write */
	struct torn_site *torn;	/* with temporary blocks that live at moments */
	size_t torn_count;
	uint32_t *torn_of;	/* by index of site: in torn + 1; 0: none */
	struct torn_row *torn_row;	/* of all of them */
	size_t torn_row_count;
	uint32_t intervals;	/* with a change, so far */
	uint32_t torn_kind;	/* of the block that lives now and is freed next */
	bool has_torn;
	size_t change_count;
	struct change *change;	/* of this moment; room for a change a site */
	size_t point;		/* next of the timeline */
};

static void heaptrack_done(struct heaptrack *h)
{
	heaptrack_trace_done(&h->trace);
	export_levels_done(&h->levels);
	free(h->stack);
	free(h->temporary);
	free(h->torn);
	free(h->torn_of);
	free(h->torn_row);
	free(h->change);
}

static uint64_t difference(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

/* Of what comes and goes, most at the most are temporary. */
static void split_temporary(struct change *ret, uint64_t most)
{
	ret->temporary = torn_pairs(&ret->alloc, &ret->free, most);
	ret->alloc.count -= ret->temporary.count;
	ret->alloc.bytes -= ret->temporary.bytes;
	ret->free.count -= ret->temporary.count;
	ret->free.bytes -= ret->temporary.bytes;
}

/* Figures of a recording may be anything: bytes without blocks, fewer than before. */
static void find_change(const struct export_level *from, const struct export_level *to,
			struct change *ret)
{
	uint64_t held;

	ret->alloc.count = difference(to->alloc_count, from->alloc_count);
	ret->alloc.bytes = difference(to->alloc_bytes, from->alloc_bytes);
	held = view_sum(from->live_bytes, ret->alloc.bytes);
	ret->alloc.bytes = view_sum(ret->alloc.bytes, difference(to->live_bytes, held));
	ret->free.count = difference(to->free_count, from->free_count);
	ret->free.bytes = difference(view_sum(from->live_bytes, ret->alloc.bytes), to->live_bytes);
	if (ret->alloc.bytes && !ret->alloc.count)
		ret->alloc.count = 1;
	if (ret->free.bytes && !ret->free.count)
		ret->free.count = 1;
}

/* The site's row of this interval; NULL: none of its blocks is torn. */
static struct torn_row *torn_row_now(const struct heaptrack *h, uint32_t index)
{
	const struct torn_site *site;
	size_t low = 0, high;

	if (!h->torn_count || !h->torn_of[index])
		return NULL;
	site = &h->torn[h->torn_of[index] - 1];
	high = site->row_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (site->row[middle].interval < h->intervals)
			low = middle + 1;
		else
			high = middle;
	}
	return low < site->row_count && site->row[low].interval == h->intervals ?
		       &site->row[low] : NULL;
}

/* The torn blocks that begin and end here are not among the others. */
static void take_torn(const struct heaptrack *h, uint32_t index, struct change *ret)
{
	const struct torn_row *row = torn_row_now(h, index);
	const struct torn_site *site;

	if (!row)
		return;
	site = &h->torn[h->torn_of[index] - 1];
	ret->out = row->out;
	ret->out_bytes = row->out_bytes;
	ret->alloc.count -= row->out;
	ret->alloc.bytes -= row->out ? row->out_bytes : 0;
	if (row > site->row && row[-1].out) {
		ret->free.count--;
		ret->free.bytes -= row[-1].out_bytes;
	}
}

/* From how a site stands to how it will. */
static struct change change_of(const struct heaptrack *h, uint32_t index,
			       const struct export_level *to)
{
	struct change change = { .out = false };

	find_change(&h->levels.level[index], to, &change);
	take_torn(h, index, &change);
	split_temporary(&change, h->temporary[index]);
	return change;
}

/* export_levels_step calls it for each site that changes. */
static int add_change(void *context, uint32_t index, const struct export_level *to)
{
	struct heaptrack *h = context;
	struct change *change = &h->change[h->change_count];
	int err = 0;

	if (!h->stack[index])
		err = heaptrack_trace_stack(&h->trace, &h->input->sites->site[index],
					    &h->stack[index]);
	if (err < 0)
		return err;
	*change = change_of(h, index, to);
	change->stack = h->stack[index];
	h->temporary[index] -= change->temporary.count;
	h->change_count++;
	return 0;
}

/* An event of a kind, or two that belong together. */
static void put_times(const struct heaptrack *h, const char *before, uint32_t kind,
		      const char *between, uint64_t times)
{
	char line[64];
	size_t length = between ?
		(size_t)snprintf(line, sizeof(line), "%s %x\n%s %x\n", before, kind, between,
				 kind) :
		(size_t)snprintf(line, sizeof(line), "%s %x\n", before, kind);

	for (uint64_t i = 0; h->writing && i < times; i++)
		fwrite(line, 1, length, h->out);
}

/* count blocks with bytes together: those of the mean size, and those of one byte more. */
static int put_events(struct heaptrack *h, uint32_t stack, uint64_t count, uint64_t bytes,
		      const char *first, const char *second)
{
	uint64_t events = count / h->merge + (count % h->merge != 0), larger;
	bool freed = first[0] == '-';
	uint32_t kind = 0;
	int err;

	if (!events)
		return 0;
	larger = bytes % events;
	err = heaptrack_trace_kind(&h->trace, bytes / events, stack, freed, &kind);
	if (err == 0)
		put_times(h, first, kind, second, events - larger);
	if (err == 0 && larger) {
		err = heaptrack_trace_kind(&h->trace, bytes / events + 1, stack, freed, &kind);
		if (err == 0)
			put_times(h, first, kind, second, larger);
	}
	return err;
}

/* The block that will be freed first. */
static int put_torn(struct heaptrack *h)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < h->change_count; i++) {
		const struct change *change = &h->change[i];

		if (!change->out)
			continue;
		err = heaptrack_trace_kind(&h->trace, change->out_bytes, change->stack, false,
					   &h->torn_kind);
		put_times(h, "+", h->torn_kind, NULL, 1);
		h->has_torn = true;
	}
	return err;
}

/* The order in the comment at the top. */
static int put_changes(struct heaptrack *h)
{
	int err = 0;

	if (h->change_count == 0)
		return 0;
	put_times(h, "-", h->torn_kind, NULL, h->has_torn);
	h->has_torn = false;
	for (size_t i = 0; err == 0 && i < h->change_count; i++)
		err = put_events(h, h->change[i].stack, h->change[i].free.count,
				 h->change[i].free.bytes, "-", NULL);
	for (size_t i = 0; err == 0 && i < h->change_count; i++)
		err = put_events(h, h->change[i].stack, h->change[i].temporary.count,
				 h->change[i].temporary.bytes, "+", "-");
	for (size_t i = 0; err == 0 && i < h->change_count; i++)
		err = put_events(h, h->change[i].stack, h->change[i].alloc.count,
				 h->change[i].alloc.bytes, "+", NULL);
	if (err == 0)
		err = put_torn(h);
	h->change_count = 0;
	h->intervals++;
	return err;
}

/* The largest RSS since the moment before. */
static void put_rss(struct heaptrack *h, double until)
{
	const struct snapshot *snapshot = h->input->content->snapshot;
	uint64_t most = 0;

	for (; h->point < snapshot->timeline_count; h->point++) {
		const struct timeline_point *point = &snapshot->timeline[h->point];

		if (point->time > until)
			break;
		most = point->rss_bytes > most ? point->rss_bytes : most;
	}
	if (most)
		fprintf(h->out, "R %llx\n", (unsigned long long)most / PAGE);
}

static int put_moment(struct heaptrack *h)
{
	double time = h->levels.moments.moment[h->levels.next].time;
	int err = export_levels_step(&h->levels, add_change, h);

	if (err == 0)
		err = put_changes(h);
	if (!h->writing)
		return err;
	put_rss(h, h->levels.next < h->levels.moments.count ? time : INFINITY);
	fprintf(h->out, "c %llx\n", (unsigned long long)export_ticks(time, 1e3));
	return err;
}

static int put_moments(struct heaptrack *h)
{
	int err = 0;

	while (err == 0 && h->levels.next < h->levels.moments.count)
		err = put_moment(h);
	return err;
}

static int put_header(struct heaptrack *h)
{
	const struct snapshot *snapshot = h->input->content->snapshot;
	int err;

	fputs("v 10400 3\nX ", h->out);
	err = export_put_line(h->out, snapshot->target.cmdline);
	fprintf(h->out, "\nI %x 0\n", PAGE);
	if (snapshot->session.begin_time > snapshot->target.start_time + 1)
		fputs("A\n", h->out);	/* attached */
	if (h->merge > 1)
		fprintf(h->out, "# %llu allocations are written as one\n",
			(unsigned long long)h->merge);
	return err;
}

static int count_events(void *context, uint32_t index, const struct export_level *to)
{
	struct heaptrack *h = context;
	const struct change change = change_of(h, index, to);

	h->events += (unsigned __int128)change.alloc.count + change.free.count;
	h->events += change.temporary.count;
	h->temporary[index] -= change.temporary.count;
	h->change_count++;
	return 0;
}

static uint64_t temporary_of(const struct heaptrack *h, size_t index)
{
	return h->input->content->snapshot->every_alloc ?
		       h->input->sites->site[index].figures->temporary_count : 0;
}

/* A sum that ends at 2^64 would let each of thousands of sites have as many events as all. */
static uint64_t merge_for(unsigned __int128 events)
{
	unsigned __int128 merge = events / MOST_EVENTS + (events % MOST_EVENTS != 0);

	return merge > UINT64_MAX ? UINT64_MAX : merge ? (uint64_t)merge : 1;
}

/* Before all moments. Torn blocks are written in any case: not one of the others. */
static void rewind_all(struct heaptrack *h)
{
	export_levels_rewind(&h->levels);
	h->intervals = 0;
	h->has_torn = false;
	for (size_t i = 0; i < h->input->sites->count; i++)
		h->temporary[i] = temporary_of(h, i);
	for (size_t i = 0; i < h->torn_row_count; i++)
		h->temporary[h->torn[h->torn_row[i].site].site] -= h->torn_row[i].out;
}

/* Calls each for all changes of all moments. */
static int go_through(struct heaptrack *h,
		      int (*each)(void *context, uint32_t index, const struct export_level *to))
{
	int err = 0;

	while (err == 0 && h->levels.next < h->levels.moments.count) {
		err = export_levels_step(&h->levels, each, h);
		h->intervals += h->change_count > 0;
		h->change_count = 0;
	}
	return err;
}

static int count_row(void *context, uint32_t index, const struct export_level *to)
{
	struct heaptrack *h = context;

	(void)to;
	if (h->torn_of[index])
		h->torn[h->torn_of[index] - 1].row_count++;
	h->torn_row_count += h->torn_of[index] != 0;
	h->change_count++;
	return 0;
}

static int keep_row(void *context, uint32_t index, const struct export_level *to)
{
	struct heaptrack *h = context;
	struct change change = { .out = false };
	struct torn_site *site;

	h->change_count++;
	if (!h->torn_of[index])
		return 0;
	find_change(&h->levels.level[index], to, &change);
	site = &h->torn[h->torn_of[index] - 1];
	site->row[site->row_count++] = (struct torn_row){
		.interval = h->intervals, .site = h->torn_of[index] - 1,
		.alloc = change.alloc, .free = change.free };
	return 0;
}

/* Of those of which temporary blocks are left. */
static int list_torn(struct heaptrack *h)
{
	size_t sites = h->input->sites->count;

	h->torn = calloc(sites + 1, sizeof(*h->torn));
	h->torn_of = calloc(sites + 1, sizeof(*h->torn_of));
	if (!h->torn || !h->torn_of)
		return -ENOMEM;
	for (size_t i = 0; i < sites; i++) {
		if (!h->temporary[i] || h->merge > 1)
			continue;
		h->torn[h->torn_count] = (struct torn_site){
			.site = (uint32_t)i, .temporary = temporary_of(h, i),
			.missing = h->temporary[i] };
		h->torn_of[i] = (uint32_t)++h->torn_count;
	}
	return 0;
}

static int find_torn(struct heaptrack *h)
{
	struct torn_row *row;
	int err = list_torn(h);

	if (err < 0 || h->torn_count == 0)
		return err;
	rewind_all(h);
	err = go_through(h, count_row);
	row = h->torn_row = calloc(h->torn_row_count + 1, sizeof(*row));
	if (err == 0 && !row)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < h->torn_count; i++) {
		h->torn[i].row = row;
		row += h->torn[i].row_count;
		h->torn[i].row_count = 0;
	}
	rewind_all(h);
	if (err == 0)
		err = go_through(h, keep_row);
	return err < 0 ? err : torn_find(h->torn, h->torn_count, h->intervals);
}

/* To know how much there will be, and what is torn by moments. */
static int look_ahead(struct heaptrack *h)
{
	int err;

	rewind_all(h);
	err = go_through(h, count_events);
	h->merge = merge_for(h->events);
	if (err == 0)
		err = find_torn(h);
	rewind_all(h);
	return err;
}

static int prepare(struct heaptrack *h)
{
	const struct view_sites *sites = h->input->sites;
	int err = heaptrack_trace_init(&h->trace, h->out, h->input);

	if (err == 0)
		err = export_levels_init(&h->levels, h->input);
	h->stack = calloc(sites->count + 1, sizeof(*h->stack));
	h->temporary = calloc(sites->count + 1, sizeof(*h->temporary));
	h->change = calloc(sites->count + 1, sizeof(*h->change));
	if (err == 0 && !(h->stack && h->temporary && h->change))
		err = -ENOMEM;
	return err < 0 ? err : look_ahead(h);
}

int export_heaptrack(FILE *out, const struct export_input *input)
{
	_cleanup_(heaptrack_done) struct heaptrack h = { .out = out, .input = input };
	int err = prepare(&h);

	if (err == 0)
		err = put_header(&h);
	if (err == 0)
		err = put_moments(&h);
	heaptrack_trace_put_kinds(&h.trace);
	rewind_all(&h);
	h.writing = true;
	return err < 0 ? err : put_moments(&h);
}
