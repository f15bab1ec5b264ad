/* SPDX-License-Identifier: MIT */
/* heap.c - what all walkers share. */
#include "src/leak/heap.h"

void heap_done(struct heap *heap)
{
	ranges_done(&heap->own);
}
