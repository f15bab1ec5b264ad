/* SPDX-License-Identifier: MIT */
/* overview.h - views of the process as a whole: overview, histogram, timeline. */
#ifndef MEMATTACH_VIEW_OVERVIEW_H
#define MEMATTACH_VIEW_OVERVIEW_H

#include "src/view/view.h"

/* The program, how it was watched, totals, what is unfreed, the allocator's overhead. */
int overview_text(FILE *out, const struct view_input *input);
int overview_json(struct emit *emit, const struct view_input *input);

/* Calls by requested size, in powers of two or a bar a size. */
int histogram_text(FILE *out, const struct view_input *input);
int histogram_json(struct emit *emit, const struct view_input *input);

/* Intervals: what was allocated and freed, what lived at their ends. */
int timeline_text(FILE *out, const struct view_input *input);
int timeline_json(struct emit *emit, const struct view_input *input);

#endif
