/* SPDX-License-Identifier: MIT */
/* heap_totals.h - the figures of a whole allocator, whichever it is: for analysis.c. */
#ifndef MEMATTACH_LEAK_HEAP_TOTALS_H
#define MEMATTACH_LEAK_HEAP_TOTALS_H

#include "src/heap/heap.h"
#include "src/leak/analysis/analysis.h"

/* After a walker: begin is the number of segments that heap->blocks had before it. */
void heap_totals_note(struct heap *heap, const struct heap_result *result, size_t begin);
/* What the session knows of its blocks, at the moment of the picture. */
void heap_totals_books(struct heap *heap, const struct analysis_input *input);
/* All memory that the walks took for an allocator's, normalized. 0 or -ENOMEM. */
int heap_totals_memory(const struct heap *heap, struct ranges *ret) _must_check_;

#endif
