/* SPDX-License-Identifier: MIT */
/*
 * several_view.c - views of the sites of several processes.
 *
 * A view of sites means the same of a sum. What is about one process's time or memory does not:
 * peaks were not at the same moment, sessions did not begin together, addresses overlap.
 */
#include "src/several/several_write.h"

#include <errno.h>
#include <string.h>

#include "src/base/file_reader.h"
#include "src/report/emit.h"
#include "src/several/several_put.h"

static const char *const shown[] = { "hotspots", "tree", "flame", "histogram", "temporary",
				     "filter", "source" };

static struct view_input input_for(const struct several *several,
				   const struct report_options *report,
				   const struct view_options *options)
{
	return (struct view_input){
		.report = { .snapshot = several->snapshot, .stacks = several->stacks,
			    .names = several->names, .options = *report },
		.options = *options,
	};
}

const char *several_view_missing(const struct view *view, const struct view_options *options,
				 const struct several *several)
{
	static const struct report_options plain = { 0 };
	const struct view_input input = input_for(several, &plain, options);
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		known |= strcmp(view->name, shown[i]) == 0;
	if (!known)
		return "it is about one process; of several there are hotspots, tree, flame, "
		       "histogram, temporary, filter, source, leaks";
	if (options->metric_given && options->metric == VIEW_PEAK_BYTES)
		return "processes have their peaks at different moments: no --by=peak";
	return view_missing(view, &input);
}

static void put_head(FILE *out, const struct report_options *options, const void *context)
{
	(void)!several_put_processes(out, context, options);	/* names alone are missing */
}

static void put_json_head(struct emit *emit, const void *context)
{
	const struct several *several = context;

	emit_begin(emit, "pids", '[');
	for (size_t i = 0; i < several->watched; i++)
		emit_int(emit, NULL, several->process[i].pid);
	emit_end(emit, ']');
}

int several_view_write(const struct view *view, FILE *out, const struct several *several,
		       const struct report_options *report, const struct view_options *options,
		       bool json)
{
	const struct report_head head = { put_head, put_json_head, several };
	struct view_input input = input_for(several, report, options);
	struct file_reader reader;

	file_reader_of_us(&reader);
	input.reader = &reader;
	input.report.head = &head;
	return view_write(view, out, &input, json);
}
