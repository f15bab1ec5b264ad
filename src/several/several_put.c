/* SPDX-License-Identifier: MIT */
/*
 * several_put.c - see several_put.h.
 *
 * Columns are those of the processes with the most live bytes, which come first; what does not fit
 * into the width is one column, so that a row always adds up. Names are the targets' own.
 */
#include "src/several/several_put.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/report/estimated.h"
#include "src/report/human.h"
#include "src/report/printable.h"
#include "src/report/text_put.h"
#include "src/view/view_metric.h"

#define DEFAULT_WIDTH	100u
#define LABEL_COLUMNS	17	/* of a row: "  definitely lost" */
#define COLUMN		11	/* "  1023 KiB" and one between */
#define TITLE_COLUMNS	28

struct several_columns several_columns(FILE *out, const struct several *several,
				       const struct report_options *options)
{
	size_t width = options->width ? options->width : DEFAULT_WIDTH;
	size_t fit = width > LABEL_COLUMNS + 3 * COLUMN ? (width - LABEL_COLUMNS) / COLUMN - 1 : 2;
	size_t own = several->watched <= fit ? several->watched : fit - 1;

	return (struct several_columns){ .own = own, .others = several->watched - own,
					 .several = several, .style = style_for(options),
					 .out = out };
}

/* Printable, and cut to a column. To be freed; NULL. */
static char *cut_name(const char *name)
{
	char *text = printable_copy(name, PRINTABLE_TERMINAL);

	if (text)
		printable_cut(text, COLUMN - 1);
	return text;
}

/* Aligned to the right by what it takes on a terminal. */
static void put_right(const struct several_columns *c, const char *text)
{
	size_t columns = printable_columns(text);

	fprintf(c->out, "%*s%s", columns < COLUMN ? (int)(COLUMN - columns) : 0, "", text);
}

void several_put_heads(const struct several_columns *c, const char *label)
{
	char text[32];

	fprintf(c->out, "%s%-*s", c->style->dim, LABEL_COLUMNS, label);
	put_right(c, "all");
	for (size_t i = 0; i < c->own; i++) {
		(void)snprintf(text, sizeof(text), "%d", c->several->process[i].pid);
		put_right(c, text);
	}
	if (c->others) {
		(void)snprintf(text, sizeof(text), "%zu", c->others);
		put_right(c, text);
	}
	fprintf(c->out, "%s\n%s%-*s", c->style->plain, c->style->dim, LABEL_COLUMNS + COLUMN, "");
	for (size_t i = 0; i < c->own; i++) {
		const struct several_process *process = &c->several->process[i];
		_cleanup_free_ char *name = cut_name(process->after_exec ? "after exec" :
								  process->name);

		put_right(c, name ? name : "?");
	}
	if (c->others)
		put_right(c, "others");
	fprintf(c->out, "%s\n", c->style->plain);
}

static void put_bytes(const struct several_columns *c, uint64_t bytes)
{
	put_right(c, bytes ? human_bytes((double)bytes).text : "-");
}

void several_put_row(const struct several_columns *c, const char *label, uint64_t total,
		     const uint64_t *by_process)
{
	uint64_t others = 0;

	fprintf(c->out, "%s%-*s%s", c->style->bold, LABEL_COLUMNS, label, c->style->plain);
	put_bytes(c, total);
	for (size_t i = 0; i < c->own; i++)
		put_bytes(c, by_process[i]);
	for (size_t i = c->own; i < c->several->watched; i++)
		others = view_sum(others, by_process[i]);
	if (c->others)
		put_bytes(c, others);
	fputc('\n', c->out);
}

static const char *how_it_ended(enum snapshot_detached detached)
{
	static const char *const words[] = {
		[SNAPSHOT_ATTACHED] = "no end: still attached, or killed",
		[SNAPSHOT_PRISTINE] = "left pristine",
		[SNAPSHOT_DORMANT] = "left dormant: memattach cleanup",
		[SNAPSHOT_TARGET_ENDED] = "it ended",
	};

	return words[detached];
}

static uint64_t lost_of(const struct snapshot_session *session)
{
	uint64_t lost = view_sum(session->lost.alloc, session->lost.free);

	return view_sum(view_sum(lost, session->lost.map), session->lost.stack);
}

/* "1234 postgres after exec", padded. */
static int put_title(FILE *out, const struct several_process *process)
{
	_cleanup_free_ char *title = several_process_title(process);
	_cleanup_free_ char *name = title ? printable_copy(title, PRINTABLE_TERMINAL) : NULL;
	size_t columns;

	if (!name)
		return -ENOMEM;
	columns = 9 + printable_columns(name);
	fprintf(out, "  %7d %s%*s", process->pid, name,
		columns < TITLE_COLUMNS ? (int)(TITLE_COLUMNS - columns) : 0, "");
	return 0;
}

/* "~" where it is an estimate; its interval is in the document. */
static void put_marked(FILE *out, const struct snapshot *s, uint64_t bytes)
{
	char text[HUMAN_BYTES + 1];

	(void)snprintf(text, sizeof(text), "%s%s", view_mark(s), human_bytes((double)bytes).text);
	fprintf(out, " %10s", text);
}

static void put_figures(FILE *out, const struct snapshot *s, double rate)
{
	uint64_t lost = lost_of(&s->session);

	put_marked(out, s, s->totals.live_bytes);
	put_marked(out, s, s->totals.alloc_bytes);
	put_marked(out, s, rate < 1e18 ? (uint64_t)rate : 0);
	fprintf(out, "/s %7s", lost ? human_count((double)lost).text : "-");
}

static double rate_of(const struct snapshot *s)
{
	double seconds = s->session.duration;

	return seconds > 0 && isfinite(seconds) ? (double)s->totals.alloc_bytes / seconds : 0;
}

static int put_process(FILE *out, const struct style *style, const struct several_process *process)
{
	const struct snapshot *s = process->content ? process->content->snapshot : NULL;
	int err = put_title(out, process);

	if (err < 0)
		return err;
	if (!s) {
		fprintf(out, " %snot watched:%s ", style->warn, style->plain);
		text_put_printable(out, process->problem ? process->problem : "unknown");
		fputc('\n', out);
		return 0;
	}
	put_figures(out, s, rate_of(s));
	fprintf(out, " %8s  %s%s%s\n", human_seconds(s->session.duration).text,
		s->session.detached == SNAPSHOT_PRISTINE ? "" : style->warn,
		how_it_ended(s->session.detached), style->plain);
	return 0;
}

static void put_precision(FILE *out, const struct several *several)
{
	const struct snapshot *s = several->snapshot;
	const char *hooked = several->partial ? " of hooked functions" : "";

	text_put_label(out, "precision");
	if (s->exact)
		fprintf(out, "%s event%s, %s allocations\n",
			several->partial ? "events: each" : "exact: every", hooked,
			human_exact(s->totals.samples).text);
	else if (s->every_alloc)
		fprintf(out, "every allocation%s so far, %s of them\n", hooked,
			human_exact(s->totals.samples).text);
	else
		fprintf(out, "sampled: figures rest on %s samples; in brackets their 95 %% "
			"interval\n", human_exact(s->totals.samples).text);
}

static void put_all(FILE *out, const struct several *several)
{
	double rate = 0;

	for (size_t i = 0; i < several->watched; i++)
		rate += rate_of(several->process[i].content->snapshot);
	fprintf(out, "  %7s %-*s", "all", TITLE_COLUMNS - 10, "");
	put_figures(out, several->snapshot, rate);
	fprintf(out, " %8s\n", human_seconds(several->snapshot->session.duration).text);
}

int several_put_processes(FILE *out, const struct several *several,
			  const struct report_options *options)
{
	const struct style *style = style_for(options);
	int err = 0;

	fprintf(out, "%smemattach:%s %zu process%s", style->bold, style->plain,
		several->process_count, several->process_count == 1 ? "" : "es");
	if (several->watched < several->process_count)
		fprintf(out, ", %zu of them not watched",
			several->process_count - several->watched);
	fputc('\n', out);
	if (several->watched)
		put_precision(out, several);
	if (several->missed)
		fprintf(out, "  %s%-10s%s%u child%s ended too soon, or came when there was no room "
			"(--max-processes)\n", style->warn, "missed", style->plain, several->missed,
			several->missed == 1 ? "" : "ren");
	fprintf(out, "\n  %s%7s %-*s %10s %10s %12s %7s %8s  %s%s\n", style->dim, "process",
		TITLE_COLUMNS - 10, "", "live", "allocated", "rate", "lost", "watched",
		"how it ended", style->plain);
	for (size_t i = 0; err == 0 && i < several->process_count; i++)
		err = put_process(out, style, &several->process[i]);
	if (err == 0 && several->watched > 1)
		put_all(out, several);
	return err;
}
