/* SPDX-License-Identifier: MIT */
/* arenas.h - each arena of the allocators, as malloc_info(3) tells it. For view.c. */
#ifndef MEMATTACH_VIEW_ARENAS_H
#define MEMATTACH_VIEW_ARENAS_H

#include "src/view/view.h"

/* Of all views that stand on a walk of the heaps. */
const char *heaps_missing(const struct view_input *input);
int arenas_text(FILE *out, const struct view_input *input);
int arenas_json(struct emit *emit, const struct view_input *input);

/* "glibc 2.36". */
void arenas_put_allocator(FILE *out, const struct heap_total *heap);

#endif
