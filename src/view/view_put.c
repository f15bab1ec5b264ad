/* SPDX-License-Identifier: MIT */
/*
 * view_put.c - see view_put.h.
 *
 * Names are a target's: printed only through printable_copy. What a snapshot does not know
 * (temporary blocks of a sampled session) is null, never 0.
 */
#include "src/view/view_put.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "src/report/frame_json.h"
#include "src/report/printable.h"
#include "src/report/text_put.h"
#include "src/view/threads_view.h"

#define NAME_COLUMNS 44u

void view_put_title(FILE *out, const struct view_input *input, const char *format, ...)
{
	const struct style *style = style_for(&input->report.options);
	va_list arguments;

	if (input->options.filter.thread)
		threads_put_chosen(out, input);
	va_start(arguments, format);
	fprintf(out, "\n%s", style->bold);
	vfprintf(out, format, arguments);
	fprintf(out, "%s\n", style->plain);
	va_end(arguments);
}

double view_share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void view_put_share(FILE *out, uint64_t part, uint64_t whole)
{
	fprintf(out, "%5.1f %%", view_share(part, whole));
}

struct human view_human(enum view_metric metric, uint64_t value)
{
	return view_metric_is_bytes(metric) ? human_bytes((double)value) :
					      human_count((double)value);
}

void view_put_value(FILE *out, enum view_metric metric, uint64_t value)
{
	const char *suffix = view_metric_suffix(metric);
	size_t length = strlen(suffix);

	if (value == 1 && !view_metric_is_bytes(metric))
		length--;
	fprintf(out, "%s %.*s", view_human(metric, value).text, (int)length, suffix);
}

void view_put_location(FILE *out, const struct view_frame *frame)
{
	text_put_printable(out, frame->file ? frame->file : view_base_name(frame->module));
	if (frame->file && frame->line)
		fprintf(out, ":%u", frame->line);
	if (frame->file && frame->line && frame->column)
		fprintf(out, ":%u", frame->column);
	if (frame->inlined)
		fputs(" (inlined)", out);
}

static void put_frame(FILE *out, const struct style *style, const struct view_frame *frame)
{
	_cleanup_free_ char *title = printable_copy(frame->title, PRINTABLE_TERMINAL);
	size_t columns;

	if (title)
		text_fit_name(title);
	columns = title ? printable_columns(title) : 0;
	fprintf(out, "      %s%s%s", style->name, title ? title : "?", style->plain);
	if (frame->function || frame->file) {
		fprintf(out, "%*s  %s", columns < NAME_COLUMNS ? (int)(NAME_COLUMNS - columns) : 0,
			"", style->dim);
		view_put_location(out, frame);
		if (frame->file && !frame->line && !strchr(frame->file, '/') && frame->module[0]) {
			fputs(" in ", out);	/* as text_put_location */
			text_put_printable(out, view_base_name(frame->module));
		}
		fputs(style->plain, out);
	}
	fputc('\n', out);
}

void view_put_stack(FILE *out, const struct view_input *input, const struct view_site *site)
{
	const struct style *style = style_for(&input->report.options);
	const char *end = NULL;

	for (uint32_t i = 0; i < site->frame_count; i++)
		put_frame(out, style, site->frame[i]);
	if (site->cut)
		end = "(more callers are left out)";
	else if (site->stack_flags & STACK_CALLER_ONLY)
		end = "(only the caller is known)";
	else if (site->stack_flags & STACK_TRUNCATED)
		end = "(cut: could not be followed to the thread's start)";
	if (end)
		fprintf(out, "      %s%s%s\n", style->dim, end, style->plain);
}

void view_put_bar(FILE *out, uint64_t part, uint64_t whole, uint32_t columns)
{
	double share = view_share(part, whole) / 100;
	uint32_t length = (uint32_t)(share * columns + 0.5);

	if (part && !length)
		length = 1;
	if (length)
		fputs("  ", out);
	while (length-- > 0)
		fputc('#', out);
	fputc('\n', out);
}

void view_put_nothing(FILE *out, const struct view_input *input, const struct view_sites *sites,
		      enum view_metric metric)
{
	_cleanup_free_ char *text = NULL;

	if (sites->sum[metric])
		return;
	text = view_metric_nothing(input->report.snapshot, sites->sum, metric);
	fprintf(out, "  Nothing: %s.\n", text ? text : "");
}

enum view_metric view_metric_or(const struct view_input *input, enum view_metric otherwise)
{
	if (input->options.metric_given)
		return input->options.metric;
	return input->report.snapshot->session.mode != SNAPSHOT_COUNTS ||
	       view_knows(input, otherwise) ? otherwise : VIEW_ALLOC_BYTES;
}

int view_take(const struct view_input *input, bool cut, struct view_sites **ret)
{
	struct view_filter filter = input->options.filter;

	filter.depth = cut ? input->options.depth : 0;
	return view_sites_new(&input->report, &filter, ret);
}

const char *view_missing_of_moment(const struct view_input *input)
{
	return input->report.snapshot->session.recorded_seconds > 0 ?
		"it is known of a recording's end only: leave out the moment" : NULL;
}

bool view_knows(const struct view_input *input, enum view_metric metric)
{
	return !view_metric_missing(input->report.snapshot, metric) &&
	       !(metric == VIEW_PEAK_BYTES && input->options.filter.thread);
}

void view_json_metrics(struct emit *emit, const struct view_input *input, const char *key,
		       const uint64_t value[VIEW_METRIC_COUNT])
{
	emit_begin(emit, key, '{');
	for (int m = 0; m < VIEW_METRIC_COUNT; m++) {
		enum view_metric metric = (enum view_metric)m;

		emit_uint_if(emit, view_metric_name(metric), value[m], view_knows(input, metric));
	}
	emit_end(emit, '}');
}

void view_json_frame(struct emit *emit, const char *key, const struct view_frame *frame)
{
	emit_begin(emit, key, '{');
	emit_text(emit, "title", frame->title);
	frame_json_put_members(emit, &(struct symbol_frame){
		.function = frame->function, .function_offset = frame->function_offset,
		.file = frame->file, .line = frame->line, .column = frame->column,
		.module = frame->module, .build_id = frame->build_id, .offset = frame->offset,
		.inlined = frame->inlined,
	});
	emit_end(emit, '}');
}

void view_json_site(struct emit *emit, const struct view_input *input, const char *key,
		    const struct view_site *site)
{
	static const char *const kind[] = { "malloc", "mmap", "custom" };
	const struct snapshot_site *s = site->figures;
	const struct snapshot *snapshot = input->report.snapshot;
	bool whole = !input->options.filter.thread;	/* not a part of it */

	emit_begin(emit, key, '{');
	emit_uint(emit, "id", s->id);
	emit_text(emit, "kind", kind[s->kind]);
	emit_uint(emit, "live_bytes", s->live_bytes);
	emit_uint(emit, "live_count", s->live_count);
	emit_uint(emit, "alloc_bytes", s->alloc_bytes);
	emit_uint(emit, "alloc_count", s->alloc_count);
	emit_uint(emit, "free_count", s->free_count);
	emit_uint_if(emit, "peak_live_bytes", s->peak_live_bytes, whole);
	emit_uint_if(emit, "at_peak_bytes", s->at_peak_bytes, snapshot->site_peaks && whole);
	emit_uint_if(emit, "at_peak_count", s->at_peak_count, snapshot->site_peaks && whole);
	emit_uint_if(emit, "temporary_count", s->temporary_count, snapshot->every_alloc);
	emit_uint_if(emit, "size_low", s->size_low, snapshot->site_peaks);
	emit_uint_if(emit, "size_high", s->size_high, snapshot->site_peaks);
	emit_uint(emit, "threads", s->threads);
	emit_bool(emit, "cut", site->cut || site->stack_flags & STACK_TRUNCATED);
	emit_begin(emit, "frames", '[');
	for (uint32_t i = 0; i < site->frame_count; i++)
		view_json_frame(emit, NULL, site->frame[i]);
	emit_end(emit, ']');
	emit_end(emit, '}');
}
