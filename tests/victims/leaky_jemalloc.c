/* SPDX-License-Identifier: MIT */
/*
 * leaky_jemalloc.c - special cases of jemalloc (leaky.h): every small class, large blocks at odd
 * places in their pages, arenas and caches made by hand, blocks freed by other threads.
 *
 * Runs with jemalloc preloaded: what only jemalloc has is looked up at run time.
 */
#include "tests/victims/leaky.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of jemalloc's header, which need not be installed. */
#define CACHE(number)	((int)((number) + 2) << 8)
#define ARENA(number)	((int)((number) + 1) << 20)
#define NO_CACHE	((int)1 << 8)

static void *(*mallocx)(size_t size, int flags);
static void (*dallocx)(void *p, int flags);
static size_t (*xallocx)(void *p, size_t size, size_t extra, int flags);
static int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t bytes);

static void look_up(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		victim_fail("jemalloc is not preloaded");
	memcpy(ret_function, &found, sizeof(found));
}

static unsigned int make(const char *name)
{
	unsigned int number;
	size_t bytes = sizeof(number);

	if (mallctl(name, &number, &bytes, NULL, 0))
		victim_fail(name);
	return number;
}

/* Not static: stores to what nobody reads would be left out. */
void *jemalloc_kept[256], *jemalloc_many[100000];

/* Some of each class lost, one reached, some freed; sizes at both ends of the class. */
VICTIM_FRAME static void build_classes(void)
{
	size_t last = 0;

	for (size_t i = 0, size = 1; i < 60; i++, size = last + 1) {
		uintptr_t hidden[6];

		for (int k = 0; k < 6; k++)
			hidden[k] = leaky_hide(LEAKY(LEAKY_LOST, size, malloc(size)));
		last = malloc_usable_size(leaky_reveal(hidden[0]));
		LEAKY(LEAKY_LOST, last, malloc(last));
		jemalloc_kept[i] = LEAKY(LEAKY_REACHED, last, calloc(1, last));
		for (int k = 0; k < 6; k += 2)
			leaky_free(leaky_reveal(hidden[k]));
	}
}

/* 100,000 of sizes up to 300, of which each tenth is lost, and as many come and go. */
VICTIM_FRAME static void build_small(void)
{
	unsigned int random = 1;

	for (int i = 0; i < 100000; i++) {
		size_t size;
		void *gone;

		random = random * 1664525u + 1013904223u;
		size = random >> 8 & 255;
		size += size < 8 ? 8 : random >> 16 & 31;
		gone = victim_seen(malloc(size));
		if (i % 10)
			jemalloc_many[i] = LEAKY(LEAKY_REACHED, size, malloc(size));
		else
			LEAKY(LEAKY_LOST, size, malloc(size));
		memset(gone, 0, size);
		free(gone);
	}
}

/* Large blocks, in place and moved, that hold others at their ends. */
VICTIM_FRAME static void build_large(void)
{
	for (size_t i = 0; i < 20; i++) {
		size_t size = 16384 + i * i * 9000;
		void **lost = LEAKY(LEAKY_LOST, size, calloc(1, size)), *moved;

		lost[size / 8 - 1] = LEAKY(LEAKY_BELOW, 48, malloc(48));
		jemalloc_kept[100 + i] = lost = LEAKY(LEAKY_REACHED, size, calloc(1, size));
		lost[size / 8 - 1] = LEAKY(LEAKY_REACHED, 48, malloc(48));
		moved = leaky_forget(LEAKY(LEAKY_LOST, size, malloc(size)));
		xallocx(moved, size * 2, 0, 0);
		LEAKY(LEAKY_LOST, size * 2, moved);
		moved = leaky_forget(LEAKY(LEAKY_LOST, size * 3, malloc(size * 3)));
		xallocx(moved, size, 0, 0);
		LEAKY(LEAKY_LOST, size, moved);
		moved = leaky_forget(LEAKY(LEAKY_LOST, 100, malloc(100)));
		LEAKY(LEAKY_LOST, size, realloc(moved, size));
	}
}

VICTIM_FRAME static void build_aligned(void)
{
	for (int i = 0; i < 18; i++) {
		size_t align = (size_t)32 << i;
		void **lost = LEAKY(LEAKY_LOST, 300, aligned_alloc(align, 300));

		*lost = LEAKY(LEAKY_BELOW, 70000, aligned_alloc(align, 70000));
		jemalloc_kept[130 + i] = LEAKY(LEAKY_REACHED, 200000, memalign(align, 200000));
	}
}

/* Larger than all that the page map has in one leaf; its memory stays untouched. */
VICTIM_FRAME static void build_giant(void)
{
	size_t size = (size_t)2500 << 20;

	leaky_note(mallocx(size, 0), size, LEAKY_LOST, __func__, __LINE__);
	jemalloc_kept[150] = leaky_note(mallocx(size, 0), size, LEAKY_REACHED, __func__,
					__LINE__);
}

/* Blocks in an arena and in a cache of the program's own, and free ones in that cache. */
VICTIM_FRAME static void build_by_hand(void)
{
	unsigned int arena = make("arenas.create"), cache = make("tcache.create");
	int flags = ARENA(arena) | CACHE(cache);
	uintptr_t hidden[40];

	for (int i = 0; i < 40; i++) {
		size_t size = (size_t)(i % 4 ? 72 : 20000);

		hidden[i] = leaky_hide(LEAKY(LEAKY_LOST, size, mallocx(size, flags)));
		LEAKY(LEAKY_LOST, size, mallocx(size, ARENA(arena) | NO_CACHE));
		jemalloc_kept[160 + i] = LEAKY(LEAKY_REACHED, size, mallocx(size, flags));
	}
	for (int i = 0; i < 20; i++)
		dallocx(leaky_forget(leaky_reveal(hidden[i])), CACHE(cache));
}

static uintptr_t crossed[3][200];

static void allocate_there(int number)
{
	for (int i = 0; i < 200; i++)
		crossed[number][i] = leaky_hide(LEAKY(LEAKY_LOST, 88, malloc(88)));
}

static void free_here(int number)
{
	for (int i = 0; i < 150; i++)
		leaky_free(leaky_reveal(crossed[number][i]));
}

/* What one thread allocated is in the cache of another. */
static void build_crossed(void)
{
	for (int i = 0; i < 3; i++)
		leaky_thread(allocate_there, i);
	for (int i = 0; i < 3; i++)
		leaky_thread(free_here, 2 - i);
	for (int i = 0; i < 3; i++)
		for (int k = 150; k < 170; k++)
			leaky_free(leaky_reveal(crossed[i][k]));
}

/* When nothing is cached, jemalloc's own sum is that of the blocks, and of what it has itself. */
VICTIM_FRAME static void build_sum(void)
{
	uint64_t epoch = 1;
	size_t sum, bytes = sizeof(sum);

	build_classes();
	build_large();
	if (mallctl("thread.tcache.flush", NULL, NULL, NULL, 0) ||
	    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) ||
	    mallctl("stats.allocated", &sum, &bytes, NULL, 0))
		victim_fail("mallctl");
	victim_say("allocated %zu\n", sum);
}

static const struct leaky_kind kinds[] = {
	{ "classes", build_classes, 0 },
	{ "large", build_large, 0 },
	{ "aligned", build_aligned, 0 },
	{ "by_hand", build_by_hand, 0 },
	{ "crossed", build_crossed, 0 },
	{ "small", build_small, 1 },
	{ "giant", build_giant, 1 },
	{ "sum", build_sum, 1 },
	{ NULL, NULL, 0 },
};

int main(int argc, char *argv[])
{
	(void)argc;
	look_up("mallocx", &mallocx);
	look_up("dallocx", &dallocx);
	look_up("xallocx", &xallocx);
	look_up("mallctl", &mallctl);
	return leaky_main(argv, kinds, NULL);
}
