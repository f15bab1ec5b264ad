/* SPDX-License-Identifier: MIT */
/*
 * report.c - the table of reports, and where their names come from.
 *
 * A report sees a snapshot, stacks and names, never a live table: whatever can
 * be printed while attached can be printed again from a recording.
 */
#include "src/report/report.h"

#include <string.h>

#include "src/report/report_json.h"
#include "src/report/report_text.h"

static const struct report table[] = {
	{ "text", "for people: what was watched, totals, top sites with their stacks", text_write },
	{ "leaks", "for people: what is lost or suspect, and nothing else", text_write_leaks },
	{ "json", "one JSON document (docs/snapshot.schema.json)", json_write },
	{ "live", "a few lines, for reprinting while attached", text_write_live },
	{ NULL, NULL, NULL },
};

const struct report *report_table(void)
{
	return table;
}

const struct report *report_find(const char *name)
{
	for (const struct report *report = table; report->name; report++) {
		if (strcmp(report->name, name) == 0)
			return report;
	}
	return NULL;
}

static const struct symbol_frame *frame_by_symbolizer(void *context, const struct frame *frame,
						      size_t *ret_count)
{
	return symbolizer_frame(context, frame, ret_count);
}

/* Without a symbolizer there is one frame without a name; the writer prints its offset. */
static const struct symbol_frame *frame_unnamed(void *context, const struct frame *frame,
						size_t *ret_count)
{
	static const struct symbol_frame unknown = { .module = "", .build_id = "" };

	(void)context;
	(void)frame;
	*ret_count = 1;
	return &unknown;
}

struct report_names report_names_symbolizer(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return (struct report_names){ .frame = frame_unnamed };
	return (struct report_names){ .frame = frame_by_symbolizer, .context = symbolizer };
}
