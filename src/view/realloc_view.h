/* SPDX-License-Identifier: MIT */
/* realloc_view.h - a row of the table in view.c: what became of calls of realloc, by site. */
#ifndef MEMATTACH_VIEW_REALLOC_VIEW_H
#define MEMATTACH_VIEW_REALLOC_VIEW_H

#include "src/view/view.h"

const char *realloc_missing(const struct view_input *input);
int realloc_text(FILE *out, const struct view_input *input);
int realloc_json(struct emit *emit, const struct view_input *input);

#endif
