/* SPDX-License-Identifier: MIT */
/*
 * view.h - a table of views: each shows one side of a snapshot, for people or as JSON
 * (docs/VIEWS.md, docs/views.schema.json).
 */
#ifndef MEMATTACH_VIEW_VIEW_H
#define MEMATTACH_VIEW_VIEW_H

#include "src/live/block_list.h"
#include "src/report/emit.h"
#include "src/live/site_lives.h"
#include "src/memory/heap_figures.h"
#include "src/memory/regions.h"
#include "src/view/view_sites.h"

/* Zeroed: each view's own choice. */
struct view_options {
	struct view_filter filter;	/* its depth: see below */
	bool metric_given;
	enum view_metric metric;
	bool reverse;			/* tree: from the innermost function */
	bool use_size;			/* flame: allocated bytes rather than calls */
	bool time_in_bytes;		/* timeline: by bytes allocated so far */
	bool exact_sizes;		/* histogram: a bar a size */
	bool threshold_given;
	double threshold;		/* tree, source: percent; what has less is joined */
	uint32_t depth;			/* tree, flame: levels; else: frames of a stack; 0: all */
};
struct view_input {
	struct report_input report;
	const struct site_lives *lives;	/* NULL: not known */
	const struct block_list *blocks;	/* the same */
	const struct regions *regions;	/* the same */
	const struct heap_figures *heaps;	/* the same */
	struct view_options options;
	const struct file_reader *reader;	/* of sources, for assigned_files_new() */
};
/* What a session has to find out for it at its end. */
enum view_needs {
	VIEW_NEEDS_REGIONS = 1,		/* look at the mappings */
	VIEW_NEEDS_HEAPS = 2,		/* take a picture, walk the heaps */
	VIEW_NEEDS_SOURCES = 4,		/* read source files */
};
struct view {
	const char *name, *help;
	bool filtered;			/* options.filter means something to it */
	/* Why this input can't be shown, a phrase for people; NULL: it can. May itself be NULL. */
	const char *(*missing)(const struct view_input *input);
	/* The whole text, with its head. 0 or -errno; errors of the stream stick to it. */
	int (*write_text)(FILE *out, const struct view_input *input);
	/* The members of the document that come behind its head. 0 or -errno. */
	int (*write_json)(struct emit *emit, const struct view_input *input);
	bool no_threads;		/* its figures are known of sites as a whole: no --thread */
	uint32_t counted;		/* enum counts_kind that is enough for it; 0: none is */
};
/* By name, or NULL. */
const struct view *view_find(const char *name);
/* The table; ends with a NULL name. */
const struct view *view_table(void);
/* What it has to be given that not every session finds out: enum view_needs. NULL needs nothing. */
unsigned int view_needs(const struct view *view);
/* As view->missing, and what holds for every view: options that it can't heed. */
const char *view_missing(const struct view *view, const struct view_input *input);
/* pre: not missing. 0, -errno of the stream, -ENOMEM. */
int view_write(const struct view *view, FILE *out, const struct view_input *input, bool json)
	_must_check_;

#endif
