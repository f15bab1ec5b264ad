/* SPDX-License-Identifier: MIT */
/*
 * leaky_heaps.c - the allocator's special cases of leaky (leaky.h): freed blocks in each of its
 * lists, every function that allocates, blocks mapped alone, huge pages.
 */
#include "tests/victims/leaky_kinds.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Not static: stores to what nobody reads would be left out. */
void *leaky_kept[16];

/*
 * Blocks that go to tcache (the first 7 of a size), fastbins (the rest up to 120), the unsorted
 * list and from there to small and large bins, and to the top: none of them is live. Between
 * them stand lost ones, so that nothing merges.
 */
VICTIM_FRAME void leaky_build_freed(void)
{
	static const size_t size[] = { 24, 56, 104, 600, 1500, 5000 };
	uintptr_t hidden[12];

	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 12; j++) {
			hidden[j] = leaky_hide(LEAKY(LEAKY_LOST, size[i], malloc(size[i])));
			LEAKY(LEAKY_LOST, 1016, malloc(1016));
		}
		for (int j = 0; j < 12; j++)
			leaky_free(leaky_reveal(hidden[j]));
		/* Sorts what is in the unsorted list into bins; half of the sizes stay there. */
		if (i == 4)
			leaky_free(LEAKY(LEAKY_LOST, 100000, malloc(100000)));
	}
}

/* Freed blocks that still hold, and are still held by, pointers. */
VICTIM_FRAME void leaky_build_freed_holder(void)
{
	void **freed = LEAKY(LEAKY_LOST, 88, calloc(1, 88));
	void **large = LEAKY(LEAKY_LOST, 3000, calloc(1, 3000));

	freed[5] = LEAKY(LEAKY_LOST, 1048, malloc(1048));
	large[200] = LEAKY(LEAKY_LOST, 1064, malloc(1064));
	leaky_kept[0] = LEAKY(LEAKY_REACHED, 1080, malloc(1080));
	freed[6] = leaky_kept[0];
	leaky_kept[1] = freed;	/* dangling */
	leaky_kept[2] = large;
	leaky_free(freed);
	leaky_free(large);
}

static VICTIM_INLINED void *aligned(size_t alignment, size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, alignment, size) ? NULL : p;
}

VICTIM_FRAME void leaky_build_allocators(void)
{
	LEAKY(LEAKY_LOST, 1096, calloc(1, 1096));
	LEAKY(LEAKY_LOST, 1120, aligned_alloc(32, 1120));
	leaky_kept[3] = LEAKY(LEAKY_REACHED, 8192, aligned_alloc(4096, 8192));
	LEAKY(LEAKY_LOST, 1136, memalign(256, 1136));
	LEAKY(LEAKY_LOST, 1152, memalign(65536, 1152));
	LEAKY(LEAKY_LOST, 1168, valloc(1168));
	LEAKY(LEAKY_LOST, 1200, aligned(512, 1200));
	for (int i = 0; i < 9; i++)
		LEAKY(LEAKY_LOST, 64, aligned_alloc(64, 64));
}

/* Whole pages. memcheck ends a program that calls this. */
VICTIM_FRAME void leaky_build_pvalloc(void)
{
	LEAKY(LEAKY_LOST, 4096, pvalloc(1184));
}

/* Stays, moves, shrinks, and from nothing; what moved leaves a stale pointer behind. */
VICTIM_FRAME void leaky_build_realloc(void)
{
	void *p = LEAKY(LEAKY_LOST, 1500, malloc(1500));

	leaky_kept[4] = p;
	LEAKY(LEAKY_LOST, 1232, realloc(victim_seen(NULL), 1232));
	p = leaky_forget(p);
	LEAKY(LEAKY_LOST, 9000, realloc(p, 9000));
	p = leaky_forget(LEAKY(LEAKY_LOST, 4000, malloc(4000)));
	LEAKY(LEAKY_LOST, 1248, realloc(p, 1248));
	p = leaky_forget(LEAKY(LEAKY_LOST, 200000, malloc(200000)));
	leaky_kept[5] = LEAKY(LEAKY_REACHED, 600000, realloc(p, 600000));
	p = leaky_forget(LEAKY(LEAKY_LOST, 200000, malloc(200000)));
	LEAKY(LEAKY_LOST, 500000, realloc(p, 500000));
}

/* Blocks of a mapping of their own: lost, reached, aligned, holding others far inside. */
VICTIM_FRAME void leaky_build_mapped(void)
{
	void **list = LEAKY(LEAKY_LOST, 300000, malloc(300000));

	memset(list, 0, 300000);
	list[37000] = LEAKY(LEAKY_BELOW, 1264, malloc(1264));
	list[30000] = LEAKY(LEAKY_BELOW, 400000, malloc(400000));
	LEAKY(LEAKY_LOST, 250000, memalign(65536, 250000));
	list = leaky_kept[6] = LEAKY(LEAKY_REACHED, 700000, calloc(1, 700000));
	list[80000] = LEAKY(LEAKY_REACHED, 1264, malloc(1264));
	leaky_kept[7] = LEAKY(LEAKY_REACHED, 200000, memalign(4096, 200000));
	leaky_kept[8] = (char *)LEAKY(LEAKY_MAYBE, 800000, calloc(1, 800000)) + 400000;
}

/* In huge pages, if the kernel gives any. */
VICTIM_FRAME void leaky_build_huge(void)
{
	size_t size = 8 << 20;
	char *p = LEAKY(LEAKY_REACHED, size, memalign(2 << 20, size)), *q;
	void *below;

	(void)madvise(p, size, MADV_HUGEPAGE);
	memset(p, 0, size);
	below = LEAKY(LEAKY_REACHED, 1280, malloc(1280));
	memcpy(p + (6 << 20), &below, sizeof(below));
	leaky_kept[9] = p;
	q = LEAKY(LEAKY_LOST, size, memalign(2 << 20, size));
	(void)madvise(q, size, MADV_HUGEPAGE);
	memset(q, 0, size);
	below = LEAKY(LEAKY_BELOW, 1280, malloc(1280));
	memcpy(q + (500000), &below, sizeof(below));
}

/* What libc's functions allocate for us. */
VICTIM_FRAME void leaky_build_library(void)
{
	char text[200];

	memset(text, 'x', sizeof(text));
	text[199] = '\0';
	LEAKY(LEAKY_LOST, 200, strdup(text));
	leaky_kept[10] = LEAKY(LEAKY_REACHED, 181, strndup(text, 180));
}
