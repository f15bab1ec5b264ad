/* SPDX-License-Identifier: MIT */
/* threads_view.h - the view threads, and what --thread means for the others. */
#ifndef MEMATTACH_VIEW_THREADS_VIEW_H
#define MEMATTACH_VIEW_THREADS_VIEW_H

#include "src/view/view.h"

/* Rows of struct view. */
const char *threads_missing(const struct view_input *input);
int threads_text(FILE *out, const struct view_input *input);
int threads_json(struct emit *emit, const struct view_input *input);

/* pre of the rest: options.filter.thread, report.threads. True: it names nobody. */
bool threads_none(const struct view_input *input);
/* "threads": the numbers that it names; "untold_calls". */
void threads_json_chosen(struct emit *emit, const struct view_input *input);
/* For people: a line with these threads, and one about what no filter finds. */
void threads_put_chosen(FILE *out, const struct view_input *input);

#endif
