/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_figures.h - where the memory of each arena went, while the glibc walker walks. For its
 * parts; their results are as heap_glibc.h says.
 */
#ifndef MEMATTACH_LEAK_HEAP_GLIBC_FIGURES_H
#define MEMATTACH_LEAK_HEAP_GLIBC_FIGURES_H

#include "src/heap/glibc/heap_glibc.h"

/* After all checks: what the walk does not tell. -EAGAIN: a list of unsorted chunks is broken. */
int glibc_figures_new(struct glibc *glibc) _must_check_;
void glibc_figures_free(struct glibc_figures *figures);
/* Then, around the walk that adds; between them each chunk is noted. 0 or -ENOMEM. */
int glibc_figures_begin(struct glibc *glibc, struct heap *heap) _must_check_;
int glibc_figures_note(struct glibc *glibc, uint32_t arena, enum heap_part part, uint64_t chunk,
		       uint64_t size) _must_check_;
int glibc_figures_end(struct glibc *glibc) _must_check_;
/* HEAP_UNSORTED, or where a free chunk of that size belongs. */
enum heap_part glibc_free_part(const struct glibc *glibc, uint64_t chunk, uint64_t size);

#endif
