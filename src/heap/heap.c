/* SPDX-License-Identifier: MIT */
/* heap.c - what all walkers share. */
#include "src/heap/heap.h"

#include <stdlib.h>

void heap_done(struct heap *heap)
{
	ranges_done(&heap->own);
	free(heap->held);
	heap->held = NULL;
	heap->held_count = 0;
}
