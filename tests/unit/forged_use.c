/* SPDX-License-Identifier: MIT */
/*
 * forged_use.c - see forged_use.h. What is written goes nowhere, but is looked at: no escape
 * sequences in text, documents that a parser takes, and never without end.
 */
#include "tests/unit/forged_use.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cleanup.h"
#include "src/export/export.h"
#include "src/recording/recorded_candidates.h"
#include "src/recording/recording_diff.h"
#include "src/report/diff_write.h"
#include "src/several/several_write.h"
#include "src/view/view.h"
#include "tests/unit/forged_recording.h"

#define KEPT		(1u << 20)
#define MOST		(200u << 20)
#define MOST_HEAPTRACK	(600u << 20)

enum sink_kind { SINK_TEXT, SINK_JSON, SINK_ANY };
static char kept[KEPT];	/* the document of the sink that is open: one at a time */

struct sink {
	enum sink_kind kind;
	const char *name;
	size_t bytes, most;
};

static void refuse(const struct sink *sink, const char *why)
{
	fprintf(stderr, "%s: %s\n", sink->name, why);
	abort();
}

/* Nothing fails to be written here. */
static void must(int err, const char *name)
{
	if (err)
		refuse(&(struct sink){ .name = name }, strerror(-err));
}

static void check_text(const struct sink *sink, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f)
			refuse(sink, "a control character");
}

static ssize_t sink_write(void *cookie, const char *text, size_t size)
{
	struct sink *sink = cookie;

	if (sink->kind == SINK_TEXT)
		check_text(sink, text, size);
	if (sink->kind == SINK_JSON && sink->bytes + size <= KEPT)
		memcpy(kept + sink->bytes, text, size);
	sink->bytes += size;
	if (sink->bytes > sink->most)
		refuse(sink, "it does not end");
	return (ssize_t)size;
}

static int sink_close(void *cookie)
{
	struct sink *sink = cookie;
	json_error_t error;
	json_t *document;

	if (sink->kind == SINK_JSON && sink->bytes && sink->bytes <= KEPT) {
		document = json_loadb(kept, sink->bytes, JSON_DECODE_INT_AS_REAL, &error);
		if (!document)
			refuse(sink, error.text);
		json_decref(document);
	}
	free(sink);
	return 0;
}

static FILE *sink_open(enum sink_kind kind, const char *name)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	FILE *file;

	if (!sink)
		abort();
	sink->kind = kind;
	sink->name = name;
	sink->most = strcmp(name, "heaptrack") == 0 ? MOST_HEAPTRACK : MOST;
	file = fopencookie(sink, "w", (cookie_io_functions_t){ .write = sink_write,
								.close = sink_close });
	if (!file)
		abort();
	return file;
}

static struct report_input input_for(const struct recording_content *content)
{
	return (struct report_input){
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.leaks = content->leaks, .threads = content->threads,
	};
}

static void print_reports(const struct recording_content *content)
{
	static const char *const report[] = { "text", "json", "live", "leaks" };
	struct report_input input = input_for(content);
	struct leak_report *leaks = NULL;

	if (content->lives && !content->leaks && recording_suspects(content, &leaks) == 0)
		input.leaks = leaks;
	for (size_t i = 0; i < ARRAY_SIZE(report); i++) {
		FILE *out = sink_open(strcmp(report[i], "json") == 0 ? SINK_JSON : SINK_TEXT,
				      report[i]);

		if (input.leaks || strcmp(report[i], "leaks") != 0)
			must(report_find(report[i])->write(out, &input), report[i]);
		(void)fclose(out);
	}
	leak_report_free(leaks);
}

static void print_views(const struct recording_content *content)
{
	const struct view_input input = {
		.report = input_for(content), .lives = content->lives, .blocks = content->blocks,
		.regions = content->regions, .heaps = content->heaps,
	};

	for (const struct view *view = view_table(); view->name; view++) {
		if (view_missing(view, &input))
			continue;
		for (int json = 0; json < 2; json++) {
			FILE *out = sink_open(json ? SINK_JSON : SINK_TEXT, view->name);

			must(view_write(view, out, &input, json), view->name);
			(void)fclose(out);
		}
	}
}

static void print_exports(const struct recording_content *content, unsigned int what)
{
	const struct report_input report = input_for(content);
	struct export_input input = { .content = content, .metric = VIEW_LIVE_BYTES };
	struct view_sites *sites;

	if (view_sites_new(&report, NULL, &sites))
		abort();
	input.sites = sites;
	for (const struct export_format *f = export_table(); f->name; f++) {
		bool document = strcmp(f->name, "json") == 0 || strcmp(f->name, "speedscope") == 0;
		FILE *out;

		if (!f->write ||
		    (strcmp(f->name, "heaptrack") == 0 && !(what & FORGED_HEAPTRACK)))
			continue;
		out = sink_open(document ? SINK_JSON : SINK_ANY, f->name);
		(void)f->write(out, &input);
		(void)fclose(out);
	}
	view_sites_free(sites);
}

static void compare(const struct recording_content *old, const struct recording_content *new)
{
	struct report_options options = { .top = 3 };
	FILE *text = sink_open(SINK_TEXT, "diff"), *json = sink_open(SINK_JSON, "diff");
	struct diff *diff;

	if (diff_new(&diff))
		abort();
	if (recording_diff_add(diff, DIFF_OLD, old, new) ||
	    recording_diff_add(diff, DIFF_NEW, new, old) || diff_compare(diff) ||
	    diff_write_text(text, diff, &options) || diff_write_json(json, diff, &options))
		abort();
	diff_free(diff);
	(void)fclose(text);
	(void)fclose(json);
}

static void put_together(struct recording_content *one, const struct recording_content *two)
{
	const struct several_input input[] = { { .content = one }, { .content = two } };
	const struct report_options options = { .top = 3 };
	FILE *text = sink_open(SINK_TEXT, "several"), *json = sink_open(SINK_JSON, "several");
	struct several *several;
	size_t twice;

	one->snapshot->session.begin_time += 100;	/* another session */
	if (several_new(input, ARRAY_SIZE(input), &several, &twice) == 0) {
		must(several_write_text(text, several, &options, false), "several");
		must(several_write_json(json, several, &options), "several");
		several_free(several);
	}
	(void)fclose(text);
	(void)fclose(json);
}

static void print(const struct recording_content *content, unsigned int what)
{
	if (what & FORGED_REPORTS)
		print_reports(content);
	if (what & FORGED_VIEWS)
		print_views(content);
	if (what & FORGED_EXPORTS)
		print_exports(content, what);
}

int forged_use_all(const char *path, const char *name, unsigned int what)
{
	struct recording_content end, moment;
	int err = recording_read(path, &end);

	if (err < 0)
		return err;
	print(&end, what);
	if (recording_read_at(name, &moment) == 0) {
		print(&moment, what);
		if (what & FORGED_COMPARED) {
			compare(&moment, &end);
			put_together(&moment, &end);
		}
		recording_content_done(&moment);
	}
	recording_content_done(&end);
	return 0;
}
