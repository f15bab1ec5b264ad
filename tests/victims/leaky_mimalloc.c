/* SPDX-License-Identifier: MIT */
/*
 * leaky_mimalloc.c - special cases of mimalloc (leaky.h): blocks of 8 bytes, pages of one block,
 * huge segments, what other threads free of full pages and of others, what ended threads leave,
 * heaps that the program makes itself, blocks behind whose begin the program's pointer lies.
 *
 * Runs with mimalloc preloaded: what only mimalloc has is looked up at run time.
 */
#include "tests/victims/leaky.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *(*heap_new)(void);
static void *(*heap_malloc)(void *heap, size_t size);

static void look_up(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		victim_fail("mimalloc is not preloaded");
	memcpy(ret_function, &found, sizeof(found));
}

/* Not static: stores to what nobody reads would be left out. */
void *mimalloc_kept[512], *mimalloc_many[60000];

/* A chain through blocks of 8 bytes, its head reached, and one whose head is lost. */
VICTIM_FRAME static void build_tiny(void)
{
	void **reached = NULL, **lost = NULL;

	for (int i = 0; i < 3000; i++) {
		void **more = LEAKY(LEAKY_REACHED, 8, malloc(1 + i % 8));

		*more = reached;
		reached = more;
		if (i % 3)
			continue;
		more = i == 2997 ? LEAKY(LEAKY_LOST, 8, malloc(8))
				 : LEAKY(LEAKY_BELOW, 8, malloc(8));
		*more = lost;
		lost = more;
	}
	mimalloc_kept[0] = reached;
}

/* Some of each size lost, one reached, some freed. */
VICTIM_FRAME static void build_classes(void)
{
	for (size_t i = 0, size = 8; i < 56; i++, size += size / 4 + 8) {
		uintptr_t hidden[6];

		for (int k = 0; k < 6; k++)
			hidden[k] = leaky_hide(LEAKY(LEAKY_LOST, size, malloc(size)));
		mimalloc_kept[10 + i] = LEAKY(LEAKY_REACHED, size, calloc(1, size));
		for (int k = 0; k < 6; k += 2)
			leaky_free(leaky_reveal(hidden[k]));
	}
}

/* 60,000 of sizes up to 300, of which each tenth is lost, and as many come and go. */
VICTIM_FRAME static void build_small(void)
{
	unsigned int random = 1;

	for (int i = 0; i < 60000; i++) {
		size_t size;
		void *gone;

		random = random * 1664525u + 1013904223u;
		size = 8 + (random >> 8 & 255);
		gone = victim_seen(malloc(size));
		if (i % 10)
			mimalloc_many[i] = LEAKY(LEAKY_REACHED, size, malloc(size));
		else
			LEAKY(LEAKY_LOST, size, malloc(size));
		memset(gone, 0, size);
		free(gone);
	}
}

/* Around 16 MiB, from where on a block has a segment of its own; others at their ends. */
VICTIM_FRAME static void build_segments(void)
{
	for (size_t i = 0; i < 8; i++) {
		size_t size = (i * 5 + 1) << 20;
		void **block = LEAKY(LEAKY_LOST, size, calloc(1, size));

		block[size / 8 - 1] = LEAKY(LEAKY_BELOW, 48, malloc(48));
		mimalloc_kept[100 + i] = block = LEAKY(LEAKY_REACHED, size, calloc(1, size));
		block[size / 8 - 1] = LEAKY(LEAKY_REACHED, 48, malloc(48));
		leaky_free(LEAKY(LEAKY_LOST, size, malloc(size)));
	}
}

/*
 * Larger than what 32 bits can say; its memory stays untouched. None is lost: stale halves of
 * pointers to libraries nearby would lead into it.
 */
VICTIM_FRAME static void build_giant(void)
{
	size_t size = (size_t)2500 << 20;

	for (int i = 0; i < 2; i++)
		mimalloc_kept[110 + i] = leaky_note(malloc(size), size, LEAKY_REACHED, __func__,
						    __LINE__);
}

/* --- other threads ---------------------------------------------------------------- */

enum { CROSSED = 2000 };
static uintptr_t crossed[4][CROSSED];

/* Full pages of three sizes, and a huge block. */
static void allocate_there(int number)
{
	static const size_t size[] = { 16, 88, 4000 };

	for (int i = 0; i < CROSSED - 1; i++) {
		size_t bytes = size[i % 3];

		crossed[number][i] = leaky_hide(LEAKY(LEAKY_LOST, bytes, malloc(bytes)));
	}
	crossed[number][CROSSED - 1] =
		leaky_hide(LEAKY(LEAKY_LOST, 17 << 20, malloc(17 << 20)));
}

/* All but each fifth. */
static void free_of(int number)
{
	for (int i = 0; i < CROSSED; i++)
		if (i % 5 || i % 400 == 0)
			leaky_free(leaky_reveal(crossed[number][i]));
}

/* What lies on the lists of pages that are another's, and is queued on its heap. */
static void build_crossed(void)
{
	for (int i = 0; i < 2; i++)
		leaky_thread(allocate_there, i);
	free_of(0);
	leaky_thread(free_of, 1);
}

static void *allocate_and_end(void *number)
{
	allocate_there((int)(intptr_t)number);
	leaky_wipe();
	return NULL;
}

static void wait_for_one(void *(*run)(void *), intptr_t argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)argument) || pthread_join(thread, NULL))
		victim_fail("pthread_create");
}

/* Segments of nobody, before and after others have freed some of their blocks. */
static void build_abandoned(void)
{
	leaky_others(LEAKY_MANY);
	wait_for_one(allocate_and_end, 2);
	wait_for_one(allocate_and_end, 3);
	free_of(2);
}

/* Taken over by a thread that needs memory. */
static void take_over(int number)
{
	for (int i = 0; i < 3000; i++)
		mimalloc_many[number * 3000 + i] =
			LEAKY(LEAKY_REACHED, 100, malloc(i % 2 ? 16 : 100));
}

static void build_reclaimed(void)
{
	build_abandoned();
	for (int i = 0; i < 3; i++)
		leaky_thread(take_over, i);
}

/* --- heaps, and alignment ----------------------------------------------------------- */

/* A heap of the program's own is a block itself, which the thread's data hold. */
VICTIM_FRAME static void build_heaps(void)
{
	leaky_others(LEAKY_MANY);
	for (int i = 0; i < 3; i++) {
		void *heap = heap_new();

		for (int k = 0; k < 50; k++) {
			LEAKY(LEAKY_LOST, 120, heap_malloc(heap, 120));
			mimalloc_kept[120 + i * 50 + k] =
				LEAKY(LEAKY_REACHED, 300, heap_malloc(heap, 300));
		}
	}
}

static VICTIM_INLINED void *aligned(size_t alignment, size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, alignment, size) ? NULL : p;
}

/* Lost and reached ones of each alignment; the last need segments of their own. */
VICTIM_FRAME static void build_aligned(void)
{
	for (int i = 0; i < 22; i++) {
		size_t align = (size_t)32 << i;
		void **lost = LEAKY(LEAKY_LOST, 100 + i * 500, aligned(align, 100 + i * 500)),
		     **reached = LEAKY(LEAKY_REACHED, 300, aligned(align, 300));

		lost[1] = LEAKY(LEAKY_BELOW, 48, malloc(48));
		mimalloc_kept[300 + 2 * i] = reached;
		reached[1] = LEAKY(LEAKY_REACHED, 70, malloc(70));
		mimalloc_kept[301 + 2 * i] = (char *)LEAKY(LEAKY_MAYBE, 40, malloc(40)) + 32;
	}
}

static const struct leaky_kind kinds[] = {
	{ "tiny", build_tiny, 0 },
	{ "classes", build_classes, 0 },
	{ "segments", build_segments, 0 },
	{ "crossed", build_crossed, 0 },
	{ "abandoned", build_abandoned, 0 },
	{ "heaps", build_heaps, 0 },
	{ "small", build_small, 1 },
	{ "giant", build_giant, 1 },
	{ "reclaimed", build_reclaimed, 1 },
	{ "aligned", build_aligned, 1 },
	{ NULL, NULL, 0 },
};

int main(int argc, char *argv[])
{
	(void)argc;
	look_up("mi_heap_new", &heap_new);
	look_up("mi_heap_malloc", &heap_malloc);
	return leaky_main(argv, kinds, NULL);
}
