/* SPDX-License-Identifier: MIT */
/* regions_view.h - every mapping of the process, by kind and by file. For view.c. */
#ifndef MEMATTACH_VIEW_REGIONS_VIEW_H
#define MEMATTACH_VIEW_REGIONS_VIEW_H

#include "src/view/view.h"

const char *regions_missing(const struct view_input *input);
int regions_text(FILE *out, const struct view_input *input);
int regions_json(struct emit *emit, const struct view_input *input);

/* "12.3 MiB", or "-" where it is not known: width columns. */
void regions_put_bytes(FILE *out, uint64_t bytes, bool known, int width);

#endif
