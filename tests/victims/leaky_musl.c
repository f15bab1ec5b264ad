/* SPDX-License-Identifier: MIT */
/*
 * leaky_musl.c - special cases of musl's mallocng (leaky.h): every size class, groups within slots
 * of other groups, blocks that move about in their slots, blocks of a mapping of their own.
 */
#include "tests/victims/leaky.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not static: stores to what nobody reads would be left out. */
void *musl_kept[64], **musl_many, *musl_aligned[32];
__thread void *of_thread[100];

/* The largest size of each second class, one less, and two more; between them freed ones. */
VICTIM_FRAME static void build_classes(void)
{
	static const unsigned short units[] = { 1, 3, 5, 7, 9, 12, 18, 25, 36, 50, 72, 102, 146,
						204, 292, 409, 584, 818, 1169, 1637, 2340, 3276,
						4680, 6552, 8191 };

	for (unsigned int i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t most = units[i] * 16u - 4;
		uintptr_t hidden[6];

		for (int k = 0; k < 6; k++)
			hidden[k] = leaky_hide(LEAKY(LEAKY_LOST, most, malloc(most)));
		LEAKY(LEAKY_LOST, most - 1, malloc(most - 1));
		musl_kept[i] = LEAKY(LEAKY_REACHED, most, malloc(most));
		LEAKY(LEAKY_LOST, most + 1, malloc(most + 1));
		for (int k = 0; k < 6; k += 2)
			leaky_free(leaky_reveal(hidden[k]));
	}
}

/* 100,000 of sizes up to 300, of which each tenth is lost, and as many come and go. */
VICTIM_FRAME static void build_small(void)
{
	size_t bytes = 90000 * sizeof(void *);
	void **kept = LEAKY(LEAKY_REACHED, bytes, calloc(90000, sizeof(void *)));
	unsigned int kept_count = 0, random = 1;

	musl_many = kept;
	for (int i = 0; i < 100000; i++) {
		size_t size;
		void *gone;

		random = random * 1664525u + 1013904223u;
		size = random >> 8 & 255;
		size += size < 8 ? 8 : random >> 16 & 31;
		gone = victim_seen(malloc(size));
		if (i % 10)
			kept[kept_count++] = LEAKY(LEAKY_REACHED, size, malloc(size));
		else
			LEAKY(LEAKY_LOST, size, malloc(size));
		memset(gone, 0, size);
		free(gone);
	}
}

/* A slot that is used anew has its block further on. */
VICTIM_FRAME static void build_moving(void)
{
	for (int i = 0; i < 300; i++)
		free(victim_seen(malloc(650)));
	for (int i = 0; i < 40; i++) {
		void **lost = LEAKY(LEAKY_LOST, 660, calloc(1, 660));

		lost[i] = LEAKY(LEAKY_BELOW, 690, malloc(690));
		free(victim_seen(malloc(650)));
	}
	for (int i = 0; i < 20; i++)
		free(victim_seen(malloc(150000)));
	musl_kept[30] = LEAKY(LEAKY_REACHED, 160000, malloc(160000));
	LEAKY(LEAKY_LOST, 170000, malloc(170000));
	LEAKY(LEAKY_LOST, 180000, malloc(180000));
}

/* Up to alignments at which the distance from the slot's begin does not fit its field. */
VICTIM_FRAME static void build_aligned(void)
{
	for (int i = 0; i < 20; i++) {
		size_t align = (size_t)32 << i;
		void **lost = LEAKY(LEAKY_LOST, 300, aligned_alloc(align, 300));

		*lost = LEAKY(LEAKY_BELOW, 70000, aligned_alloc(align, 70000));
		musl_aligned[i] = LEAKY(LEAKY_REACHED, 200000, memalign(align, 200000));
	}
}

VICTIM_FRAME static void build_changed(void)
{
	for (int i = 0; i < 10; i++) {
		void *p = leaky_forget(LEAKY(LEAKY_LOST, 140000, malloc(140000)));

		p = leaky_forget(LEAKY(LEAKY_LOST, 4000000, realloc(p, 4000000)));
		LEAKY(LEAKY_LOST, 150000, realloc(p, 150000));
		p = leaky_forget(LEAKY(LEAKY_LOST, 100, malloc(100)));
		p = leaky_forget(LEAKY(LEAKY_LOST, 90, realloc(p, 90)));
		LEAKY(LEAKY_LOST, 1, realloc(p, 1));
		p = leaky_forget(LEAKY(LEAKY_LOST, 30, malloc(30)));
		musl_kept[40 + i] = LEAKY(LEAKY_REACHED, 30000, realloc(p, 30000));
	}
}

VICTIM_FRAME static void build_empty(void)
{
	LEAKY(LEAKY_LOST, 0, malloc(victim_size(0)));
	LEAKY(LEAKY_LOST, 0, calloc(victim_size(0), 8));
	musl_kept[60] = LEAKY(LEAKY_REACHED, 0, malloc(victim_size(0)));
}

/* Thread-local storage larger than libc has room for itself: then it is a block. */
VICTIM_FRAME static void build_tls(void)
{
	for (int i = 0; i < 100; i++) {
		of_thread[i] = LEAKY(LEAKY_REACHED, 1200, calloc(1, 1200));
		*(void **)of_thread[i] = LEAKY(LEAKY_REACHED, 1300, malloc(1300));
	}
}

/* A library with more of it: libc makes each thread's table of it anew. */
VICTIM_FRAME static void build_dlopen(void)
{
	void (*keep)(void *p, void *q);
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 20);
	void *library;

	if (length < 0)
		victim_fail("/proc/self/exe");
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "leaky_plug.so");
	leaky_others(LEAKY_MANY);
	library = dlopen(path, RTLD_NOW);
	keep = library ? (void (*)(void *, void *))dlsym(library, "leaky_plug_keep") : NULL;
	if (!keep)
		victim_fail("leaky_plug.so");
	keep(LEAKY(LEAKY_REACHED, 1400, malloc(1400)), LEAKY(LEAKY_REACHED, 1500, malloc(1500)));
	build_tls();
}

static const struct leaky_kind kinds[] = {
	{ "classes", build_classes, 0 },
	{ "moving", build_moving, 0 },
	{ "aligned", build_aligned, 0 },
	{ "changed", build_changed, 0 },
	{ "empty", build_empty, 0 },
	{ "tls", build_tls, 0 },
	{ "small", build_small, 1 },
	{ "dlopen", build_dlopen, 1 },
	{ NULL, NULL, 0 },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return leaky_main(argv, kinds, NULL);
}
