/* SPDX-License-Identifier: MIT */
/*
 * site_list.c - see site_list.h. Four views of one list: what differs is the metric that sorts
 * it, which sites have no place in it, and one line that says what all of them come to.
 *
 * The peak is that of blocks, or with --track=mmap that of mappings: the two need not be at the
 * same moment, so a list of both would show a state that never was.
 */
#include "src/view/site_list.h"

#include <errno.h>

#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

struct site_list {
	struct view_sites *sites;
	const struct view_site **ranked;
	size_t count, shown;
	enum view_metric metric;
};

static void list_done(struct site_list *list)
{
	view_sites_free(list->sites);
	free(list->ranked);
}

/* Equal ones as in the snapshot. */
static int by_metric(const void *left, const void *right, void *context)
{
	const struct view_site *a = *(const struct view_site *const *)left;
	const struct view_site *b = *(const struct view_site *const *)right;
	enum view_metric metric = *(const enum view_metric *)context;
	uint64_t x = view_metric_value(a->figures, metric);
	uint64_t y = view_metric_value(b->figures, metric);

	if (x != y)
		return x < y ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int list_make(const struct view_input *input, enum view_metric metric, bool with_none,
		     struct site_list *ret)
{
	struct site_list list = { .metric = metric };
	int err = view_take(input, true, &list.sites);

	if (err == 0)
		list.ranked = calloc(list.sites->count + 1, sizeof(*list.ranked));
	if (err < 0 || !list.ranked) {
		list_done(&list);
		return err < 0 ? err : -ENOMEM;
	}
	for (size_t i = 0; i < list.sites->count; i++) {
		const struct view_site *site = &list.sites->site[i];

		if (with_none || view_metric_value(site->figures, metric) > 0)
			list.ranked[list.count++] = site;
	}
	qsort_r(list.ranked, list.count, sizeof(*list.ranked), by_metric, &list.metric);
	list.shown = text_shown(&input->report.options, list.count);
	*ret = list;
	return 0;
}

/* --- for people ------------------------------------------------------------------ */

static void put_figures(FILE *out, const struct view_input *input, const struct snapshot_site *s)
{
	fprintf(out, "    live %s in %s, allocated %s in %s",
		human_bytes((double)s->live_bytes).text, human_count((double)s->live_count).text,
		human_bytes((double)s->alloc_bytes).text,
		human_count((double)s->alloc_count).text);
	if (view_knows(input, VIEW_PEAK_BYTES))
		fprintf(out, ", at the peak %s in %s", human_bytes((double)s->at_peak_bytes).text,
			human_count((double)s->at_peak_count).text);
	if (view_knows(input, VIEW_TEMPORARY) && s->temporary_count)
		fprintf(out, ", temporary %s (%.0f %%)",
			human_count((double)s->temporary_count).text,
			view_share(s->temporary_count, s->alloc_count));
	if (input->report.snapshot->site_peaks && s->size_low == s->size_high)
		fprintf(out, "; each %s", human_bytes((double)s->size_low).text);
	else if (input->report.snapshot->site_peaks && s->size_low < s->size_high)
		fprintf(out, "; each %s to %s", human_bytes((double)s->size_low).text,
			human_bytes((double)s->size_high).text);
	fputc('\n', out);
}

static void put_site(FILE *out, const struct view_input *input, const struct site_list *list,
		     size_t rank)
{
	const struct style *style = style_for(&input->report.options);
	const struct view_site *site = list->ranked[rank];
	uint64_t value = view_metric_value(site->figures, list->metric);

	fprintf(out, "\n%s#%zu ", style->bold, rank + 1);
	view_put_share(out, value, list->sites->sum[list->metric]);
	fputs("  ", out);
	view_put_value(out, list->metric, value);
	fprintf(out, "%s, site %u%s\n", style->plain, site->figures->id,
		site->figures->kind == SITE_MMAP ? ", mappings" :
		site->figures->kind == SITE_CUSTOM ? ", custom blocks" : "");
	put_figures(out, input, site->figures);
	view_put_stack(out, input, site);
}

static void put_sites(FILE *out, const struct view_input *input, const struct site_list *list)
{
	view_put_title(out, input, "Top %zu of %zu sites by %s, %s in all", list->shown,
		       list->count, view_metric_words(list->metric),
		       view_human(list->metric, list->sites->sum[list->metric]).text);
	if (list->count == 0)
		view_put_nothing(out, input, list->sites, list->metric);
	for (size_t i = 0; i < list->shown; i++)
		put_site(out, input, list, i);
}

/* --- documents ------------------------------------------------------------------- */

static void json_sites(struct emit *emit, const struct view_input *input,
		       const struct site_list *list)
{
	uint32_t top = input->report.options.top;
	size_t shown = top && top < list->count ? top : list->count;

	emit_text(emit, "metric", view_metric_name(list->metric));
	emit_uint(emit, "site_count", list->count);
	view_json_metrics(emit, input, "sum", list->sites->sum);
	emit_begin(emit, "sites", '[');
	for (size_t i = 0; i < shown; i++)
		view_json_site(emit, input, NULL, list->ranked[i]);
	emit_end(emit, ']');
}

static int write_json(struct emit *emit, const struct view_input *input, enum view_metric metric,
		      bool with_none)
{
	struct site_list list;
	int err = list_make(input, metric, with_none, &list);

	if (err < 0)
		return err;
	json_sites(emit, input, &list);
	list_done(&list);
	return 0;
}

/* --- the views ------------------------------------------------------------------- */

static int write_text(FILE *out, const struct view_input *input, enum view_metric metric,
		      bool with_none)
{
	struct site_list list;
	int err = list_make(input, metric, with_none, &list);

	if (err < 0)
		return err;
	text_put_head(out, &input->report);
	put_sites(out, input, &list);
	list_done(&list);
	return 0;
}

int hotspots_text(FILE *out, const struct view_input *input)
{
	return write_text(out, input, view_metric_or(input, VIEW_LIVE_BYTES), false);
}

int hotspots_json(struct emit *emit, const struct view_input *input)
{
	return write_json(emit, input, view_metric_or(input, VIEW_LIVE_BYTES), false);
}

int filter_text(FILE *out, const struct view_input *input)
{
	return write_text(out, input, view_metric_or(input, VIEW_LIVE_BYTES), true);
}

int filter_json(struct emit *emit, const struct view_input *input)
{
	return write_json(emit, input, view_metric_or(input, VIEW_LIVE_BYTES), true);
}

const char *temporary_missing(const struct view_input *input)
{
	return view_metric_missing(input->report.snapshot, VIEW_TEMPORARY);
}

int temporary_text(FILE *out, const struct view_input *input)
{
	const struct snapshot_totals *totals = &input->report.snapshot->totals;
	struct site_list list;
	int err = list_make(input, VIEW_TEMPORARY, false, &list);

	if (err < 0)
		return err;
	text_put_head(out, &input->report);
	fprintf(out, "\n  %s of %s allocations (%.1f %%) were temporary: freed before their "
		"thread's next one\n", human_exact(totals->temporary_count).text,
		human_exact(totals->alloc_count).text,
		view_share(totals->temporary_count, totals->alloc_count));
	put_sites(out, input, &list);
	list_done(&list);
	return 0;
}

int temporary_json(struct emit *emit, const struct view_input *input)
{
	return write_json(emit, input, VIEW_TEMPORARY, false);
}

const char *peak_missing(const struct view_input *input)
{
	return view_metric_missing(input->report.snapshot, VIEW_PEAK_BYTES);
}

/* Of one kind: see above. */
static struct view_input of_one_kind(const struct view_input *input)
{
	struct view_input one = *input;

	if (one.options.filter.kind == VIEW_KIND_ALL)
		one.options.filter.kind = VIEW_KIND_MALLOC;
	return one;
}

static uint64_t peak_of(const struct view_input *one)
{
	const struct snapshot *snapshot = one->report.snapshot;

	return one->options.filter.kind == VIEW_KIND_MMAP ? snapshot->map_totals.peak_live_bytes :
							    snapshot->totals.peak_live_bytes;
}

int peak_text(FILE *out, const struct view_input *input)
{
	const struct view_input one = of_one_kind(input);
	bool maps = one.options.filter.kind == VIEW_KIND_MMAP;
	struct site_list list;
	int err = list_make(&one, VIEW_PEAK_BYTES, false, &list);

	if (err < 0)
		return err;
	text_put_head(out, &one.report);
	fprintf(out, "\n  %s were live at the peak of all %s\n",
		human_bytes((double)peak_of(&one)).text, maps ? "mappings" : "blocks");
	if (one.report.snapshot->session.detached == SNAPSHOT_ATTACHED)
		fputs("  The recording ends while attached: sites that were idle at its end may be "
		      "shown\n  as they were at an earlier peak.\n", out);
	put_sites(out, &one, &list);
	list_done(&list);
	return 0;
}

int peak_json(struct emit *emit, const struct view_input *input)
{
	const struct view_input one = of_one_kind(input);

	emit_uint(emit, "peak_live_bytes", peak_of(&one));
	return write_json(emit, &one, VIEW_PEAK_BYTES, false);
}
