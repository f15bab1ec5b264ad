/* SPDX-License-Identifier: MIT */
/* source_lines.h - figures by source line. For the view source. */
#ifndef MEMATTACH_VIEW_SOURCE_LINES_H
#define MEMATTACH_VIEW_SOURCE_LINES_H

#include "src/view/view_sites.h"

struct source_line {
	const char *file;	/* as in view_frame */
	uint32_t line;
	uint64_t self[VIEW_METRIC_COUNT];	/* of sites that end here; see below */
	uint64_t total[VIEW_METRIC_COUNT];	/* of sites that pass here, each once */
};
struct source_file_lines {
	const char *file;
	size_t first, count;	/* in line[] */
	uint64_t self[VIEW_METRIC_COUNT];
};
/*
 * A site ends in the innermost of its frames whose line is known: what a library without debug
 * information allocates is its caller's. Sites with no such frame are in none.
 */
struct source_lines {
	size_t line_count, file_count;
	struct source_line *line;		/* by file, then line */
	struct source_file_lines *file;		/* by self of the metric, descending; then name */
	uint64_t nowhere[VIEW_METRIC_COUNT];	/* of sites that are in none */
};
/* sites: borrowed. 0 or -ENOMEM. */
int source_lines_new(const struct view_sites *sites, enum view_metric sort,
		     struct source_lines **ret) _must_check_;
/* NULL is ignored. */
void source_lines_free(struct source_lines *lines);

#endif
