/* SPDX-License-Identifier: MIT */
/* report.h - ways to print a snapshot: a table of {name, write}. */
#ifndef MEMATTACH_REPORT_H
#define MEMATTACH_REPORT_H

#include <stdio.h>

#include "src/leak/findings/leak_report.h"
#include "src/live/snapshot.h"
#include "src/live/thread_table.h"
#include "src/symbolize/symbolize.h"

/* How names are shown; zeroed: as they are. See name_shape.h. */
struct name_shape {
	bool no_inlined;		/* frames of inlined functions are left out */
	bool function_only;		/* without parameters and return type */
	bool shorten_templates;		/* with <> for template arguments */
};
/* Where frames get their names: a symbolizer, or a recording. Same contract as symbolizer_frame. */
struct report_names {
	const struct symbol_frame *(*frame)(void *context, const struct frame *frame,
					    size_t *ret_count);
	void *context;
	const struct name_shape *shape;	/* that frame's names have already; NULL: none */
};
/* symbolizer is borrowed. NULL: no names, frames print as module id + offset. */
struct report_names report_names_symbolizer(struct symbolizer *symbolizer);

struct report_options {
	bool no_sites;		/* json: none of them; they are elsewhere */
	uint32_t top;		/* sites shown; 0: the report's own choice (text 10, json all) */
	uint32_t width;		/* columns; 0: 100 */
	bool color;
};
struct emit;
/* What stands at the head of a view that is not about one process. */
struct report_head {
	void (*put)(FILE *out, const struct report_options *options, const void *context);
	void (*json)(struct emit *emit, const void *context);	/* members of the document */
	const void *context;
};
struct report_input {
	const struct snapshot *snapshot;
	const struct stacks *stacks;
	struct report_names names;
	struct report_options options;
	const struct leak_report *leaks;	/* NULL: memory was not searched */
	const struct thread_table *threads;	/* NULL: not known */
	const struct report_head *head;		/* NULL: that of the snapshot's process */
};
struct report {
	const char *name;	/* "text", "leaks", "json", "live" */
	const char *help;
	/* Writes the whole report. 0, -errno of the stream, -ENOMEM. */
	int (*write)(FILE *out, const struct report_input *input);
};
/* By name, or NULL. */
const struct report *report_find(const char *name);
/* The table; ends with a NULL name. */
const struct report *report_table(void);

#endif
