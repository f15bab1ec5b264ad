/* SPDX-License-Identifier: MIT */
/* blocks_view.h - the unfreed blocks, one by one. */
#ifndef MEMATTACH_VIEW_BLOCKS_H
#define MEMATTACH_VIEW_BLOCKS_H

#include "src/view/view.h"

/* pre of the others: this is NULL. */
const char *blocks_missing(const struct view_input *input);
/* Address, size, age, thread and caller of each, the largest first. */
int blocks_text(FILE *out, const struct view_input *input);
int blocks_json(struct emit *emit, const struct view_input *input);

#endif
