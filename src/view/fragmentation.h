/* SPDX-License-Identifier: MIT */
/* fragmentation.h - from live bytes to RSS: where the difference went. For view.c. */
#ifndef MEMATTACH_VIEW_FRAGMENTATION_H
#define MEMATTACH_VIEW_FRAGMENTATION_H

#include "src/view/view.h"

int fragmentation_text(FILE *out, const struct view_input *input);
int fragmentation_json(struct emit *emit, const struct view_input *input);

#endif
