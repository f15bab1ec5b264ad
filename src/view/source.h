/* SPDX-License-Identifier: MIT */
/* source.h - the program's source lines, annotated with what was allocated there. */
#ifndef MEMATTACH_VIEW_SOURCE_H
#define MEMATTACH_VIEW_SOURCE_H

#include "src/view/view.h"

/* Files by what was allocated in them, their lines with the text where it can be read. */
int source_text(FILE *out, const struct view_input *input);
int source_json(struct emit *emit, const struct view_input *input);

#endif
