/* SPDX-License-Identifier: MIT */
/*
 * html_data.c - what the page draws: sites, their stacks, how they stood at each moment. Columns
 * rather than objects: a name is written once, not once a site; each text once, by number.
 *
 * Not compressed: the page would have to inflate before it could show anything, and 50,000 sites
 * are a few megabytes. Who sends it by mail compresses the whole file.
 */
#include "src/export/html_data.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/export/export_functions.h"
#include "src/export/html_stacks.h"
#include "src/export/html_threads.h"
#include "src/recording/levels.h"
#include "src/report/emit.h"

/* Texts of sites are interned: their addresses are keys. */
struct texts {
	struct hashmap index;
	const char **text;
	size_t count;
};
struct page {
	struct emit emit;
	const struct export_input *input;
	struct export_functions functions;
	struct html_stacks stacks;
	struct texts texts;
	struct recording_levels moments;
};

static void page_done(struct page *page)
{
	export_functions_done(&page->functions);
	html_stacks_done(&page->stacks);
	hashmap_done(&page->texts.index);
	free(page->texts.text);
	recording_levels_done(&page->moments);
}

/* --- texts by number -------------------------------------------------------------------- */

static int texts_add(struct texts *texts, const char *text)
{
	uint64_t known;

	if (!text || hashmap_get(&texts->index, (uintptr_t)text, &known))
		return 0;
	if (hashmap_put(&texts->index, (uintptr_t)text, texts->count) < 0)
		return -ENOMEM;
	texts->text[texts->count++] = text;
	return 0;
}

/* -1 is none. */
static int64_t texts_find(const struct texts *texts, const char *text)
{
	uint64_t known;

	return text && hashmap_get(&texts->index, (uintptr_t)text, &known) ? (int64_t)known : -1;
}

static int texts_collect(struct texts *texts, const struct export_functions *functions)
{
	int err = 0;

	texts->text = calloc((size_t)functions->count * 4 + 1, sizeof(*texts->text));
	if (!texts->text)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < functions->count; i++) {
		const struct view_frame *f = functions->function[i];

		err = texts_add(texts, f->title);
		if (err == 0)
			err = texts_add(texts, f->file);
		if (err == 0)
			err = texts_add(texts, f->module);
		if (err == 0)
			err = texts_add(texts, f->build_id);
	}
	return err;
}

static void put_texts(struct page *page)
{
	emit_begin(&page->emit, "texts", '[');
	for (size_t i = 0; i < page->texts.count; i++)
		emit_text(&page->emit, NULL, page->texts.text[i]);
	emit_end(&page->emit, ']');
}

/* --- columns ------------------------------------------------------------------------------ */

/* "key":[value(page, 0), value(page, 1), ...] */
static void put_column(struct page *page, const char *key, size_t count,
		       void (*put)(struct page *page, size_t index))
{
	emit_begin(&page->emit, key, '[');
	for (size_t i = 0; i < count; i++)
		put(page, i);
	emit_end(&page->emit, ']');
}

#define COLUMN(name, put) static void name(struct page *page, size_t i) { put; }
#define FUNCTION (page->functions.function[i])
#define FRAME (page->input->sites->frame[i])
#define NODE (page->stacks.node[i])
#define SITE (page->input->sites->site[i].figures)
#define MOMENT (page->moments.moment[i])
#define CHANGE (page->moments.change[i])
#define UINT(value) emit_uint(&page->emit, NULL, value)
#define REAL(value) emit_real(&page->emit, NULL, value)
#define TEXT(value) emit_int(&page->emit, NULL, texts_find(&page->texts, value))

COLUMN(function_title, TEXT(FUNCTION->title))
COLUMN(function_file, TEXT(FUNCTION->file))
COLUMN(function_module, TEXT(FUNCTION->module))
COLUMN(function_build_id, TEXT(FUNCTION->build_id))

static void put_functions(struct page *page)
{
	size_t count = page->functions.count;

	emit_begin(&page->emit, "functions", '{');
	put_column(page, "title", count, function_title);
	put_column(page, "file", count, function_file);
	put_column(page, "module", count, function_module);
	put_column(page, "build_id", count, function_build_id);
	emit_end(&page->emit, '}');
}

COLUMN(frame_function, UINT(page->functions.of_frame[i]))
COLUMN(frame_line, UINT(FRAME->line))
COLUMN(frame_column, UINT(FRAME->column))
COLUMN(frame_offset, UINT(FRAME->offset))
COLUMN(frame_inlined, UINT(FRAME->inlined))

static void put_frames(struct page *page)
{
	size_t count = page->input->sites->frame_count;

	emit_begin(&page->emit, "frames", '{');
	put_column(page, "function", count, frame_function);
	put_column(page, "line", count, frame_line);
	put_column(page, "column", count, frame_column);
	put_column(page, "offset", count, frame_offset);
	put_column(page, "inlined", count, frame_inlined);
	emit_end(&page->emit, '}');
}

/* How far before it its caller is: mostly 1, a tenth of what the numbers would take. */
COLUMN(node_up, UINT(i - NODE.parent))
COLUMN(node_frame, UINT(NODE.frame))

static void put_nodes(struct page *page)
{
	emit_begin(&page->emit, "nodes", '{');
	put_column(page, "up", page->stacks.count, node_up);
	put_column(page, "frame", page->stacks.count, node_frame);
	emit_bool(&page->emit, "cut", page->stacks.cut);
	emit_end(&page->emit, '}');
}

/* The stack does not go on to the thread's start, or is not whole here. */
static void site_cut(struct page *page, size_t i)
{
	const struct view_site *site = &page->input->sites->site[i];

	UINT(site->cut || (site->stack_flags & (STACK_TRUNCATED | STACK_CALLER_ONLY)));
}

COLUMN(site_node, UINT(page->stacks.of_site[i]))
COLUMN(site_caller, UINT(page->input->sites->site[i].caller))
COLUMN(site_id, UINT(SITE->id))
COLUMN(site_kind, UINT(SITE->kind))
COLUMN(site_verdict, emit_text(&page->emit, NULL, snapshot_verdict_name(SITE->verdict)))
COLUMN(site_live_bytes, UINT(SITE->live_bytes))
COLUMN(site_live_bytes_low, UINT(SITE->live_bytes_low))
COLUMN(site_live_bytes_high, UINT(SITE->live_bytes_high))
/* An end of an interval; the figure itself where none is known. */
#define KNOWN (page->input->content->snapshot->site_intervals)
#define END(key, end) (KNOWN ? SITE->in.key.end : SITE->key)
COLUMN(site_live_count_low, UINT(END(live_count, low)))
COLUMN(site_live_count_high, UINT(END(live_count, high)))
COLUMN(site_alloc_count_low, UINT(END(alloc_count, low)))
COLUMN(site_alloc_count_high, UINT(END(alloc_count, high)))
COLUMN(site_alloc_bytes_low, UINT(END(alloc_bytes, low)))
COLUMN(site_alloc_bytes_high, UINT(END(alloc_bytes, high)))
COLUMN(site_free_count_low, UINT(END(free_count, low)))
COLUMN(site_free_count_high, UINT(END(free_count, high)))
COLUMN(site_peak_live_bytes_low, UINT(END(peak_live_bytes, low)))
COLUMN(site_peak_live_bytes_high, UINT(END(peak_live_bytes, high)))
COLUMN(site_live_count, UINT(SITE->live_count))
COLUMN(site_alloc_bytes, UINT(SITE->alloc_bytes))
COLUMN(site_alloc_count, UINT(SITE->alloc_count))
COLUMN(site_free_count, UINT(SITE->free_count))
COLUMN(site_at_peak_bytes, UINT(SITE->at_peak_bytes))
COLUMN(site_peak_live_bytes, UINT(SITE->peak_live_bytes))
COLUMN(site_temporary_count, UINT(SITE->temporary_count))
COLUMN(site_threads, UINT(SITE->threads))
COLUMN(site_samples, UINT(SITE->samples))
COLUMN(site_growth, REAL(SITE->growth))
COLUMN(site_lifetime_p50, REAL(SITE->lifetime_p50))
COLUMN(site_lifetime_p90, REAL(SITE->lifetime_p90))
COLUMN(site_lifetime_max, REAL(SITE->lifetime_max))

static const struct { const char *key; void (*put)(struct page *page, size_t i); } site_column[] = {
	{ "id", site_id }, { "node", site_node }, { "caller", site_caller }, { "cut", site_cut },
	{ "kind", site_kind },
	{ "verdict", site_verdict }, { "live_bytes", site_live_bytes },
	{ "live_bytes_low", site_live_bytes_low }, { "live_bytes_high", site_live_bytes_high },
	{ "live_count_low", site_live_count_low }, { "live_count_high", site_live_count_high },
	{ "alloc_count_low", site_alloc_count_low }, { "alloc_count_high", site_alloc_count_high },
	{ "alloc_bytes_low", site_alloc_bytes_low }, { "alloc_bytes_high", site_alloc_bytes_high },
	{ "free_count_low", site_free_count_low }, { "free_count_high", site_free_count_high },
	{ "peak_live_bytes_low", site_peak_live_bytes_low },
	{ "peak_live_bytes_high", site_peak_live_bytes_high },
	{ "live_count", site_live_count }, { "alloc_bytes", site_alloc_bytes },
	{ "alloc_count", site_alloc_count }, { "free_count", site_free_count },
	{ "at_peak_bytes", site_at_peak_bytes }, { "peak_live_bytes", site_peak_live_bytes },
	{ "temporary_count", site_temporary_count }, { "threads", site_threads },
	{ "samples", site_samples }, { "growth", site_growth },
	{ "lifetime_p50", site_lifetime_p50 }, { "lifetime_p90", site_lifetime_p90 },
	{ "lifetime_max", site_lifetime_max },
};

static void put_sites(struct page *page)
{
	emit_begin(&page->emit, "sites", '{');
	for (size_t i = 0; i < ARRAY_SIZE(site_column); i++)
		put_column(page, site_column[i].key, page->input->sites->count,
			   site_column[i].put);
	emit_end(&page->emit, '}');
}

/* --- moments ------------------------------------------------------------------------------ */

COLUMN(moment_time, REAL(MOMENT.time))
COLUMN(moment_live_bytes, UINT(MOMENT.live_bytes))
COLUMN(moment_changes, UINT(MOMENT.change_count))
COLUMN(change_site, UINT(CHANGE.site))
COLUMN(change_live_bytes, UINT(CHANGE.live_bytes))
COLUMN(change_live_count, UINT(CHANGE.live_count))
COLUMN(change_alloc_bytes, UINT(CHANGE.alloc_bytes))
COLUMN(change_alloc_count, UINT(CHANGE.alloc_count))

/* Sites in changes are named by id: their places in the snapshot are not those in the page. */
static void name_sites(struct page *page)
{
	const struct snapshot *snapshot = page->input->content->snapshot;

	for (size_t i = 0; i < page->moments.change_count; i++)
		CHANGE.site = snapshot->site[CHANGE.site].id;
}

static void put_moments(struct page *page)
{
	size_t changes = page->moments.change_count;

	emit_begin(&page->emit, "moments", '{');
	put_column(page, "time", page->moments.count, moment_time);
	put_column(page, "live_bytes", page->moments.count, moment_live_bytes);
	put_column(page, "changes", page->moments.count, moment_changes);
	emit_end(&page->emit, '}');
	emit_begin(&page->emit, "changes", '{');
	put_column(page, "site", changes, change_site);
	put_column(page, "live_bytes", changes, change_live_bytes);
	put_column(page, "live_count", changes, change_live_count);
	put_column(page, "alloc_bytes", changes, change_alloc_bytes);
	put_column(page, "alloc_count", changes, change_alloc_count);
	emit_end(&page->emit, '}');
}

/* What is 0 in sites because nobody could know it. */
static void put_known(struct page *page)
{
	const struct snapshot *snapshot = page->input->content->snapshot;

	emit_begin(&page->emit, "known", '{');
	emit_bool(&page->emit, "peak", snapshot->site_peaks);
	emit_bool(&page->emit, "temporary", snapshot->every_alloc);
	emit_end(&page->emit, '}');
}

static int page_init(struct page *page, FILE *out, const struct export_input *input)
{
	int err;

	*page = (struct page){ .emit = { .out = out }, .input = input };
	err = export_functions_init(&page->functions, input->sites);
	if (err == 0)
		err = html_stacks_init(&page->stacks, input->sites);
	if (err == 0)
		err = texts_collect(&page->texts, &page->functions);
	if (err == 0)
		err = recording_levels_read(input->content, &page->moments);
	return err;
}

int html_data_put(FILE *out, const struct export_input *input)
{
	_cleanup_(page_done) struct page page;
	int err = page_init(&page, out, input);

	if (err < 0)
		return err;
	name_sites(&page);
	emit_begin(&page.emit, NULL, '{');
	emit_text(&page.emit, "schema", "memattach-html-1");
	put_known(&page);
	put_texts(&page);
	put_functions(&page);
	put_frames(&page);
	put_nodes(&page);
	put_sites(&page);
	put_moments(&page);
	html_threads_put(&page.emit, input->content->threads);
	emit_end(&page.emit, '}');
	return emit_finish(&page.emit);
}
