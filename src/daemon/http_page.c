/* SPDX-License-Identifier: MIT */
/*
 * http_page.c - see http_page.h. No script, nothing from elsewhere; the browser loads it again
 * every ten seconds.
 */
#include "src/daemon/http_page.h"

#include <errno.h>

#include "src/report/human.h"
#include "src/report/printable.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	"<meta http-equiv=\"refresh\" content=\"10\">\n"
	"<title>memattachd</title>\n"
	"<style>body{font-family:sans-serif}td,th{padding:.2em .8em;text-align:left}</style>\n"
	"</head><body>\n<h1>memattachd</h1>\n"
	"<p><a href=\"metrics\">metrics</a> <a href=\"targets\">targets</a></p>\n"
	"<table><tr><th>pid</th><th>name</th><th>rule</th><th>live</th><th>RSS</th>"
	"<th>growing</th><th></th></tr>\n";

static int put_cell(FILE *out, const char *text)
{
	_cleanup_free_ char *copy = printable_copy(text, PRINTABLE_TEXT);

	if (!copy)
		return -ENOMEM;
	fputs("<td>", out);
	for (const char *c = copy; *c; c++) {
		if (*c == '<' || *c == '>' || *c == '&' || *c == '"')
			fprintf(out, "&#%d;", *c);
		else
			putc(*c, out);
	}
	fputs("</td>", out);
	return 0;
}

static int put_figures(FILE *out, const struct figures *figures)
{
	const struct screen_state *state = &figures->state;

	if (!figures->known)
		return fputs("<td></td><td></td><td></td>", out) < 0 ? -EIO : 0;
	return put_cell(out, human_bytes((double)state->live_bytes).text) ?:
	       put_cell(out, human_bytes((double)state->rss_bytes).text) ?:
	       put_cell(out, human_exact(figures->growing).text);
}

static int put_target(FILE *out, const struct metrics_target *target)
{
	int error;

	fprintf(out, "<tr><td>%d</td>", target->pid);
	error = put_cell(out, target->name) ?: put_cell(out, target->rule) ?:
		put_figures(out, target->figures);
	fprintf(out, "<td><a href=\"targets/%d/report\">report</a>"
		" <a href=\"targets/%d/debug/pprof/heap\">heap</a>"
		" <a href=\"targets/%d/debug/pprof/allocs\">allocs</a></td></tr>\n",
		target->pid, target->pid, target->pid);
	return error;
}

int http_page_write(FILE *out, const struct metrics *metrics)
{
	int error = 0;

	fputs(head, out);
	for (size_t i = 0; !error && i < metrics->targets; i++)
		error = put_target(out, &metrics->target[i]);
	fputs("</table></body></html>\n", out);
	if (!error && (fflush(out) != 0 || ferror(out)))
		error = errno ? -errno : -EIO;
	return error;
}
