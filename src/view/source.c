/* SPDX-License-Identifier: MIT */
/*
 * source.c - see source.h.
 *
 * A path comes from debug information, which may be hostile: only regular files with names that
 * source files of C and C++ have are opened, at their path or by an end of it in the present
 * folder, and read up to a limit (leak/variable/assigned_file.h). Where a file can't be had, its
 * lines are shown without text. Nothing tells whether the text is what was compiled; a file that
 * was changed after the session began is said to be.
 */
#include "src/view/source.h"

#include <errno.h>
#include <string.h>

#include "src/leak/variable/assigned_file.h"
#include "src/report/printable.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/source_lines.h"
#include "src/view/view_put.h"

#define CONTEXT		2u	/* lines around those with figures */
#define MAX_COLUMNS	160u
#define TAB		8u

struct annotation {
	struct view_sites *sites;
	struct source_lines *lines;
	struct source_files *files;
	enum view_metric metric;
	uint64_t least;		/* a line that is shown has as much */
};

static void annotation_done(struct annotation *a)
{
	assigned_files_free(a->files);
	source_lines_free(a->lines);
	view_sites_free(a->sites);
}

static int annotate(const struct view_input *input, struct annotation *ret)
{
	struct annotation a = { .metric = view_metric_or(input, VIEW_ALLOC_BYTES) };
	int err = view_take(input, false, &a.sites);

	if (err == 0)
		err = source_lines_new(a.sites, a.metric, &a.lines);
	if (err == 0)
		err = assigned_files_new(".", input->reader, &a.files);
	if (err < 0) {
		annotation_done(&a);
		return err;
	}
	if (input->options.threshold_given)
		a.least = (uint64_t)((double)a.sites->sum[a.metric] / 100 *
				     input->options.threshold);
	*ret = a;
	return 0;
}

static bool is_shown(const struct annotation *a, const struct source_line *line)
{
	return line->total[a->metric] >= a->least;
}

/* The line without its end, tabs as spaces; to be freed, NULL: it can't be had. */
static char *line_text(struct source_file *file, uint32_t number)
{
	size_t bytes = 0, to = 0;
	const char *from = file ? assigned_file_line(file, number, &bytes) : NULL;
	char *text = from ? malloc(MAX_COLUMNS + TAB + 1) : NULL;

	for (size_t i = 0; text && i < bytes && to < MAX_COLUMNS; i++) {
		if (from[i] == '\r' && i + 1 == bytes)
			break;
		if (from[i] != '\t') {
			text[to++] = from[i] ? from[i] : '?';
			continue;
		}
		do
			text[to++] = ' ';
		while (to % TAB);
	}
	if (text)
		text[to] = '\0';
	return text;
}

/* --- for people ------------------------------------------------------------------ */

static void put_line(FILE *out, const struct annotation *a, const struct source_line *line)
{
	uint64_t self = line->self[a->metric], calls = line->self[VIEW_ALLOC_COUNT];

	fprintf(out, "%10s %11s", calls ? human_count((double)calls).text : "",
		calls ? view_human(a->metric, self).text : "");
	fprintf(out, " %10s %11s ", human_count((double)line->total[VIEW_ALLOC_COUNT]).text,
		view_human(a->metric, line->total[a->metric]).text);
}

static void put_text(FILE *out, const struct view_input *input, struct source_file *file,
		     uint32_t number)
{
	const struct style *style = style_for(&input->report.options);
	_cleanup_free_ char *text = line_text(file, number);

	fprintf(out, "%s%6u%s", style->dim, number, style->plain);
	if (text && text[0]) {
		fputs("  ", out);
		text_put_printable(out, text);
	}
	fputc('\n', out);
}

/* Lines without figures from..to; where there are none, nothing. */
static void put_context(FILE *out, const struct view_input *input, struct source_file *file,
			uint64_t from, uint64_t to)
{
	for (; file && from <= to; from++) {
		size_t bytes;

		if (from == 0 || !assigned_file_line(file, (uint32_t)from, &bytes))
			continue;
		fprintf(out, "%46s", "");
		put_text(out, input, file, (uint32_t)from);
	}
}

/* Those between line (0: the file's begin) and next (0: none comes). */
static void put_between(FILE *out, const struct view_input *input, struct source_file *file,
			uint64_t line, uint64_t next)
{
	uint64_t after = line ? line + CONTEXT : 0, before = next > CONTEXT ? next - CONTEXT : 1;

	if (line && next && before <= after + 1) {
		put_context(out, input, file, line + 1, next - 1);
		return;
	}
	if (line)
		put_context(out, input, file, line + 1, after < UINT32_MAX ? after : UINT32_MAX);
	if (line && next)
		fprintf(out, "%46s    ...\n", "");
	if (next)
		put_context(out, input, file, before, next - 1);
}

static void put_file(FILE *out, const struct view_input *input, struct annotation *a,
		     const struct source_file_lines *lines)
{
	const struct style *style = style_for(&input->report.options);
	struct source_file *file = assigned_file_get(a->files, lines->file);
	double begin = input->report.snapshot->session.begin_time;
	uint64_t last = 0;

	fprintf(out, "\n%s", style->bold);
	text_put_printable(out, lines->file);
	fprintf(out, "%s  %s %s%s\n", style->plain,
		view_human(a->metric, lines->self[a->metric]).text, view_metric_suffix(a->metric),
		!file ? "; the file can't be read here" :
		(double)assigned_file_time(file) > begin ? "; the file was changed since" : "");
	for (size_t i = lines->first; i < lines->first + lines->count; i++) {
		const struct source_line *line = &a->lines->line[i];

		if (!is_shown(a, line))
			continue;
		put_between(out, input, file, last, line->line);
		put_line(out, a, line);
		put_text(out, input, file, line->line);
		last = line->line;
	}
	put_between(out, input, file, last, 0);
}

int source_text(FILE *out, const struct view_input *input)
{
	struct annotation a;
	int err = annotate(input, &a);
	size_t shown;

	if (err < 0)
		return err;
	shown = text_shown(&input->report.options, a.lines->file_count);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Source lines: top %zu of %zu files by %s", shown,
		       a.lines->file_count, view_metric_words(a.metric));
	if (a.lines->nowhere[VIEW_ALLOC_COUNT])
		fprintf(out, "  %s of %s, in %s calls, have no known line\n",
			view_human(a.metric, a.lines->nowhere[a.metric]).text,
			view_human(a.metric, a.sites->sum[a.metric]).text,
			human_count((double)a.lines->nowhere[VIEW_ALLOC_COUNT]).text);
	fprintf(out, "%22s %22s\n", "in this line", "and in what it calls");
	fprintf(out, "%10s %11s %10s %11s %6s\n", "calls", view_metric_name(a.metric), "calls",
		view_metric_name(a.metric), "line");
	for (size_t i = 0; i < shown; i++)
		put_file(out, input, &a, &a.lines->file[i]);
	annotation_done(&a);
	return 0;
}

/* --- documents ------------------------------------------------------------------- */

static void json_file(struct emit *emit, const struct view_input *input, struct annotation *a,
		      const struct source_file_lines *lines)
{
	struct source_file *file = assigned_file_get(a->files, lines->file);

	emit_begin(emit, NULL, '{');
	emit_text(emit, "file", lines->file);
	emit_bool(emit, "readable", file);
	view_json_metrics(emit, input, "self", lines->self);
	emit_begin(emit, "lines", '[');
	for (size_t i = lines->first; i < lines->first + lines->count; i++) {
		const struct source_line *line = &a->lines->line[i];
		_cleanup_free_ char *text = line_text(file, line->line);

		if (!is_shown(a, line))
			continue;
		emit_begin(emit, NULL, '{');
		emit_uint(emit, "line", line->line);
		emit_text(emit, "text", text);
		view_json_metrics(emit, input, "self", line->self);
		view_json_metrics(emit, input, "total", line->total);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	emit_end(emit, '}');
}

int source_json(struct emit *emit, const struct view_input *input)
{
	uint32_t top = input->report.options.top;
	struct annotation a;
	int err = annotate(input, &a);

	if (err < 0)
		return err;
	emit_text(emit, "metric", view_metric_name(a.metric));
	view_json_metrics(emit, input, "sum", a.sites->sum);
	view_json_metrics(emit, input, "nowhere", a.lines->nowhere);
	emit_begin(emit, "files", '[');
	for (size_t i = 0; i < a.lines->file_count && !(top && i >= top); i++)
		json_file(emit, input, &a, &a.lines->file[i]);
	emit_end(emit, ']');
	annotation_done(&a);
	return 0;
}
