/* SPDX-License-Identifier: MIT */
/*
 * view.c - the table of views, and the head that every document has.
 *
 * A view sees what a report sees (report/report.h), and the lifetimes that a recording keeps
 * beside a snapshot. So one from a recording is the one from the end of its session.
 */
#include "src/view/view.h"

#include <errno.h>
#include <string.h>

#include "src/view/arenas.h"
#include "src/view/blocks_view.h"
#include "src/view/fragmentation.h"
#include "src/view/lifetimes_view.h"
#include "src/view/overview.h"
#include "src/view/realloc_view.h"
#include "src/view/regions_view.h"
#include "src/view/site_list.h"
#include "src/view/source.h"
#include "src/view/threads_view.h"
#include "src/view/tree.h"
#include "src/view/view_put.h"

static const struct view table[] = {
	{ "overview", "the program, totals, peak, unfreed blocks, overhead", false, NULL,
	  overview_text, overview_json, false, COUNTS_TOTALS },
	{ "hotspots", "top sites by live, bytes, calls, peak", true, NULL, hotspots_text,
	  hotspots_json, false, 0 },
	{ "tree", "call tree, from main or --reverse", true, NULL, tree_text, tree_json,
	  false, COUNTS_SITES },
	{ "flame", "folded stacks for flame graphs", true, NULL, flame_text, flame_json,
	  false, COUNTS_SITES },
	{ "histogram", "calls by requested size", false, view_missing_of_moment, histogram_text,
	  histogram_json, false, COUNTS_HISTOGRAM },
	{ "timeline", "allocations, frees, live bytes, RSS over time", false, NULL, timeline_text,
	  timeline_json, false, COUNTS_TOTALS },
	{ "temporary", "sites of blocks that were freed at once", true, temporary_missing,
	  temporary_text, temporary_json, false, 0 },
	{ "peak", "what each site held at the peak", true, peak_missing, peak_text, peak_json,
	  true, 0 },
	{ "lifetimes", "how long blocks lived, by site", true, lifetimes_missing, lifetimes_text,
	  lifetimes_json, true, 0 },
	{ "blocks", "each unfreed block: address, size, age, thread, caller", true,
	  blocks_missing, blocks_text, blocks_json, false, 0 },
	{ "filter", "sites by --size, --site, --module, --track", true, NULL, filter_text,
	  filter_json, false, 0 },
	{ "source", "source lines with what they allocated", true, NULL, source_text,
	  source_json, false, 0 },
	{ "realloc", "reallocs: moved, in place, failed, by site", true, realloc_missing,
	  realloc_text, realloc_json, true, 0 },
	{ "threads", "who allocates, who frees what others allocated", false, threads_missing,
	  threads_text, threads_json, false, 0 },
	{ "regions", "every mapping by kind and file, with size and RSS", false,
	  regions_missing, regions_text, regions_json, false, 0 },
	{ "arenas", "each arena: used, free by bin, top, attached threads", false,
	  heaps_missing, arenas_text, arenas_json, false, 0 },
	{ "fragmentation", "from live bytes to RSS: where the difference went", false,
	  heaps_missing, fragmentation_text, fragmentation_json, false, 0 },
	{ NULL, NULL, false, NULL, NULL, NULL, false, 0 },
};

const struct view *view_table(void)
{
	return table;
}

const struct view *view_find(const char *name)
{
	for (const struct view *view = table; view->name; view++)
		if (strcmp(view->name, name) == 0)
			return view;
	return NULL;
}

unsigned int view_needs(const struct view *view)
{
	if (view && view->missing == heaps_missing)
		return VIEW_NEEDS_REGIONS | VIEW_NEEDS_HEAPS;
	if (view && view->write_text == source_text)
		return VIEW_NEEDS_SOURCES;
	return view && view->missing == regions_missing ? VIEW_NEEDS_REGIONS : 0;
}

/* Why --thread can't be heeded. */
static const char *thread_missing(const struct view *view, const struct view_input *input)
{
	const struct view_options *o = &input->options;

	if (!view->filtered)
		return "it is about all of the process: no --thread";
	if (view->no_threads || (o->metric_given && o->metric == VIEW_PEAK_BYTES))
		return "that is known of a site as a whole, not of a thread: no --thread";
	if (o->filter.kind == VIEW_KIND_MMAP)
		return "which thread made a mapping is not kept: --thread is about blocks";
	if (!input->report.threads)
		return threads_missing(input);
	return threads_none(input) ? "there is no such thread: the view threads has numbers, ids "
				     "and names" : NULL;
}

/* Of a session that only counts: what it did not count. */
static const char *counts_missing(const struct view *view, const struct snapshot *snapshot)
{
	if (snapshot->session.mode != SNAPSHOT_COUNTS)
		return NULL;
	if (!view->counted)
		return "calls were only counted: which blocks live is known with --exact";
	if (view->counted <= snapshot->counts.kind)
		return NULL;
	return view->counted == COUNTS_SITES ? "sites were not counted: --counts=sites" :
					       "sizes were not counted: --counts=histogram";
}

const char *view_missing(const struct view *view, const struct view_input *input)
{
	const struct view_filter *f = &input->options.filter;
	const char *counts = counts_missing(view, input->report.snapshot);
	const char *thread = f->thread && !counts ? thread_missing(view, input) : NULL;

	if (counts || thread)
		return counts ? counts : thread;
	if (!view->filtered && input->report.names.shape)
		return "it shows no functions: no --inline, --just-function-name, "
		       "--shorten-templates";
	if (!view->filtered && (f->site || f->module || f->size_low || f->size_high))
		return "it is about all of the process: no --site, --module, --size";
	if (input->options.metric_given && !view_knows(input, input->options.metric))
		return view_metric_missing(input->report.snapshot, input->options.metric);
	return view->missing ? view->missing(input) : NULL;
}

static void json_head(struct emit *emit, const struct view *view, const struct view_input *input)
{
	const struct snapshot *snapshot = input->report.snapshot;
	const struct report_head *head = input->report.head;

	emit_text(emit, "schema", "memattach-view-1");
	emit_text(emit, "view", view->name);
	emit_uint_if(emit, "pid", (uint64_t)snapshot->target.pid, !head);
	emit_text(emit, "exe", snapshot->target.exe);
	if (head)
		head->json(emit, head->context);
	emit_text(emit, "mode", snapshot_mode_name(snapshot->session.mode));
	emit_real(emit, "duration", snapshot->session.duration);
	emit_bool(emit, "complete", snapshot->complete);
	if (input->options.filter.thread)
		threads_json_chosen(emit, input);
}

static int write_json(const struct view *view, FILE *out, const struct view_input *input)
{
	struct emit emit = { .out = out };
	int err;

	emit_begin(&emit, NULL, '{');
	json_head(&emit, view, input);
	err = view->write_json(&emit, input);
	if (err < 0)
		return err;
	emit_end(&emit, '}');
	return emit_finish(&emit);
}

int view_write(const struct view *view, FILE *out, const struct view_input *input, bool json)
{
	int err;

	errno = 0;
	err = json ? write_json(view, out, input) : view->write_text(out, input);
	if (err < 0)
		return err;
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}
