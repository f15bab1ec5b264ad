/* SPDX-License-Identifier: MIT */
/* site_list.h - sites by a metric, with their stacks: hotspots, temporary, peak and filter. */
#ifndef MEMATTACH_VIEW_SITE_LIST_H
#define MEMATTACH_VIEW_SITE_LIST_H

#include "src/view/view.h"

int hotspots_text(FILE *out, const struct view_input *input);
int hotspots_json(struct emit *emit, const struct view_input *input);

const char *temporary_missing(const struct view_input *input);
int temporary_text(FILE *out, const struct view_input *input);
int temporary_json(struct emit *emit, const struct view_input *input);

const char *peak_missing(const struct view_input *input);
int peak_text(FILE *out, const struct view_input *input);
int peak_json(struct emit *emit, const struct view_input *input);

/* As hotspots; also sites of which the metric is 0. */
int filter_text(FILE *out, const struct view_input *input);
int filter_json(struct emit *emit, const struct view_input *input);

#endif
