/* SPDX-License-Identifier: MIT */
/*
 * heaptrack.c - heaptrack's file format, version 3: events over time, made from how the sites stood
 * at each moment of the recording.
 *
 * A recording has no events any more. Between two moments a site's allocations get its mean size
 * in that time, and so do its frees: calls, bytes, leaks and temporary allocations add up to the
 * recording's figures, sizes of single blocks are means. Of each moment frees come first and what
 * stays comes last, so that heaptrack's peak is that of the moments, among which the true peak is.
 * A temporary block that made that peak is allocated last before it and freed first after it.
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
#include "src/export/heaptrack_trace.h"

#define MOST_EVENTS	(20u << 20)
#define PAGE		4096u	/* unit of RSS in the file */

/* Of one site from one moment to the next: blocks and bytes that come, go, and do both at once. */
struct change {
	uint32_t stack;
	bool torn;
	struct { uint64_t count, bytes; } alloc, free, temporary;
};
struct heaptrack {
	FILE *out;
	const struct export_input *input;
	struct heaptrack_trace trace;
	struct export_levels levels;
	uint64_t events;	/* that blocks would make */
	uint64_t merge;		/* blocks an event */
	bool writing;		/* events; before, only their kinds are learnt */
	uint32_t *stack;	/* by index of site; 0: not written yet */
	uint64_t *temporary;	/* by index of site: those left to write */
	size_t torn;		/* site with a temporary block that made the peak; SIZE_MAX: none */
	uint32_t last_kind;	/* of the last allocation that was written */
	uint64_t last_size;	/* of it, if that was of the torn one; else UINT64_MAX */
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
	free(h->change);
}

static uint64_t difference(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What count of the blocks have together: all, or as many as their mean says. */
static uint64_t share(uint64_t count, uint64_t blocks, uint64_t bytes)
{
	return count == blocks ? bytes : bytes / blocks * count;
}

/* Of what comes and goes, ret->temporary.count at the most are temporary. */
static void split_temporary(struct change *ret)
{
	uint64_t count = least(ret->temporary.count, least(ret->alloc.count, ret->free.count));
	uint64_t bytes = 0;

	if (count)
		bytes = least(share(count, ret->alloc.count, ret->alloc.bytes),
			      share(count, ret->free.count, ret->free.bytes));
	/* Bytes that are left need a block. */
	if (count && ((count == ret->alloc.count && bytes < ret->alloc.bytes) ||
		      (count == ret->free.count && bytes < ret->free.bytes)))
		bytes -= bytes / count--;
	ret->temporary.count = count;
	ret->temporary.bytes = count ? bytes : 0;
	ret->alloc.count -= count;
	ret->alloc.bytes -= ret->temporary.bytes;
	ret->free.count -= count;
	ret->free.bytes -= ret->temporary.bytes;
}

/*
 * pre: ret->temporary.count is how many are left. Figures of a recording may be anything: bytes
 * without blocks, fewer than before.
 */
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
	split_temporary(ret);
}

/* From how a site stands to how it will. */
static struct change change_of(const struct heaptrack *h, uint32_t index,
			       const struct export_level *to)
{
	struct change change = { .torn = index == h->torn };

	change.temporary.count = h->temporary[index];
	find_change(&h->levels.level[index], to, &change);
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

/* Behind its allocation, which was the last event; its bytes leave those that are freed. */
static void free_torn(struct heaptrack *h)
{
	for (size_t i = 0; i < h->change_count; i++) {
		struct change *change = &h->change[i];

		if (!change->torn || change->free.count == 0 || change->free.bytes < h->last_size ||
		    (change->free.count == 1 && change->free.bytes > h->last_size))
			continue;
		put_times(h, "-", h->last_kind, NULL, 1);
		change->free.count--;
		change->free.bytes -= h->last_size;
	}
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
	h->last_kind = kind;
	h->last_size = bytes / events + (larger != 0);
	return err;
}

/* What stays. Of the torn one last. */
static int put_allocations(struct heaptrack *h)
{
	int err = 0;

	for (int torn = 0; torn < 2; torn++) {
		h->last_size = UINT64_MAX;
		for (size_t i = 0; err == 0 && i < h->change_count; i++) {
			const struct change *change = &h->change[i];

			if (change->torn == (torn == 1))
				err = put_events(h, change->stack, change->alloc.count,
						 change->alloc.bytes, "+", NULL);
		}
	}
	return err;
}

/* The order in the comment at the top. */
static int put_changes(struct heaptrack *h, bool behind_peak)
{
	int err = 0;

	if (behind_peak)
		free_torn(h);
	for (size_t i = 0; err == 0 && i < h->change_count; i++)
		err = put_events(h, h->change[i].stack, h->change[i].free.count,
				 h->change[i].free.bytes, "-", NULL);
	for (size_t i = 0; err == 0 && i < h->change_count; i++)
		err = put_events(h, h->change[i].stack, h->change[i].temporary.count,
				 h->change[i].temporary.bytes, "+", "-");
	if (err == 0)
		err = put_allocations(h);
	h->change_count = 0;
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
	bool behind_peak = h->levels.next == h->levels.peak + 1;
	int err = export_levels_step(&h->levels, add_change, h);

	if (err == 0)
		err = put_changes(h, behind_peak);
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

	h->events = view_sum(h->events, view_sum(change.alloc.count, change.free.count));
	h->events = view_sum(h->events, change.temporary.count);
	h->temporary[index] -= change.temporary.count;
	return 0;
}

static void set_temporary(struct heaptrack *h)
{
	const struct view_sites *sites = h->input->sites;

	for (size_t i = 0; i < sites->count; i++)
		h->temporary[i] = h->input->content->snapshot->every_alloc ?
			sites->site[i].figures->temporary_count : 0;
}

/* Goes through all moments once, to know how much there will be, and what is torn by the peak. */
static int look_ahead(struct heaptrack *h)
{
	int err = 0;

	set_temporary(h);
	while (err == 0 && h->levels.next < h->levels.moments.count)
		err = export_levels_step(&h->levels, count_events, h);
	h->merge = h->events / MOST_EVENTS + (h->events % MOST_EVENTS != 0);
	h->merge = h->merge ? h->merge : 1;
	export_levels_rewind(&h->levels);
	for (size_t i = 0; h->torn == SIZE_MAX && i < h->input->sites->count; i++)
		h->torn = h->temporary[i] && h->merge == 1 &&
			  h->levels.peak != SIZE_MAX ? i : SIZE_MAX;
	set_temporary(h);
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
	_cleanup_(heaptrack_done) struct heaptrack h = { .out = out, .input = input,
							   .torn = SIZE_MAX };
	int err = prepare(&h);

	if (err == 0)
		err = put_header(&h);
	if (err == 0)
		err = put_moments(&h);
	heaptrack_trace_put_kinds(&h.trace);
	export_levels_rewind(&h.levels);
	set_temporary(&h);
	h.writing = true;
	return err < 0 ? err : put_moments(&h);
}
