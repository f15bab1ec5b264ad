/* SPDX-License-Identifier: MIT */
/*
 * sample_memory.h - the mappings and heaps of the program in sample_views.h, made by hand: two
 * arenas of glibc, a mimalloc that has none, a tcmalloc that can't be walked. What adds up in a
 * process does so here.
 */
#ifndef MEMATTACH_TESTS_SAMPLE_MEMORY_H
#define MEMATTACH_TESTS_SAMPLE_MEMORY_H

#include <string.h>

#include "src/base/procmaps.h"
#include "src/memory/heap_figures.h"
#include "src/memory/regions.h"

#define KIB 1024ull
enum { MEMORY_REGIONS = 14, MEMORY_ARENAS = 2, MEMORY_BINS = 6, MEMORY_THREADS = 2 };

struct memory_sample {
	struct regions regions;
	struct region region[MEMORY_REGIONS];
	struct heap_figures heaps;
	struct heap_arena arena[MEMORY_ARENAS];
	struct heap_bin bin[MEMORY_BINS];
	struct heap_thread thread[MEMORY_THREADS];
};

static inline void memory_regions(struct memory_sample *sample)
{
	static const struct {
		uint64_t start, size, resident, own, swapped;
		uint32_t prot;
		enum region_kind kind;
		const char *path;
	} row[MEMORY_REGIONS] = {
		{ 0x400000, 64, 60, 0, 0, PROCMAP_R | PROCMAP_X, REGION_TEXT, "/usr/bin/demo" },
		{ 0x410000, 32, 32, 0, 0, PROCMAP_R, REGION_RODATA, "/usr/bin/demo" },
		{ 0x418000, 8, 8, 8, 0, PROCMAP_R | PROCMAP_W, REGION_DATA, "/usr/bin/demo" },
		{ 0x41a000, 40, 4, 4, 0, PROCMAP_R | PROCMAP_W, REGION_BSS, "/usr/bin/demo" },
		{ 0x500000, 132, 100, 100, 8, PROCMAP_R | PROCMAP_W, REGION_HEAP, "[heap]" },
		{ 0x7f0000000000, 400, 400, 400, 0, PROCMAP_R | PROCMAP_W, REGION_ALLOCATOR,
		  "" },
		{ 0x7f0000064000, 65136, 0, 0, 0, 0, REGION_RESERVED, "" },
		{ 0x7f0008000000, 8192, 16, 16, 0, PROCMAP_R | PROCMAP_W, REGION_STACK, "" },
		{ 0x7f0010000000, 2048, 2000, 2000, 0, PROCMAP_R | PROCMAP_W, REGION_ANONYMOUS,
		  "" },
		{ 0x7f0020000000, 20, 12, 0, 0, PROCMAP_R, REGION_FILE, "/srv/a\nlist" },
		{ 0x7f0030000000, 1024, 512, 0, 0, PROCMAP_R | PROCMAP_W | PROCMAP_SHARED,
		  REGION_SHARED, "/dev/shm/queue" },
		{ 0x7f0040000000, 4, 4, 4, 0, PROCMAP_R | PROCMAP_X, REGION_JIT, "" },
		{ 0x7ff000000000, 132, 16, 16, 0, PROCMAP_R | PROCMAP_W, REGION_STACK,
		  "[stack]" },
		{ 0x7ff000200000, 8, 4, 0, 0, PROCMAP_R | PROCMAP_X, REGION_KERNEL, "[vdso]" },
	};

	for (size_t i = 0; i < MEMORY_REGIONS; i++)
		sample->region[i] = (struct region){
			.start = row[i].start, .end = row[i].start + row[i].size * KIB,
			.prot = row[i].prot, .kind = row[i].kind,
			.path = (char *)(uintptr_t)row[i].path,
			.sizes = { row[i].size * KIB, row[i].resident * KIB, row[i].own * KIB,
				   row[i].swapped * KIB, 0 } };
	sample->region[1].offset = 0x10000;
	sample->region[7].tid = 78;
	sample->region[8].sizes.huge = 1024 * KIB;
	sample->region[9].deleted = true;
	sample->region[12].tid = 77;
	sample->regions = (struct regions){ .pages_known = true, .huge_known = true,
					    .rss_bytes = 3160 * KIB, .count = MEMORY_REGIONS,
					    .region = sample->region };
}

static inline void memory_arenas(struct memory_sample *sample)
{
	sample->arena[0] = (struct heap_arena){
		.address = 0x7f1000001c60, .system_bytes = 132 * KIB, .stretches = 1,
		.max_system_bytes = 196 * KIB, .attached = 1, .resident = 100 * KIB,
		.trimmable = 24 * KIB,
		.part = { { 300, 60 * KIB, 60 * KIB }, { 7, 224, 224 }, { 3, 96, 96 },
			  { 1, 2 * KIB, 2 * KIB }, { 0, 0, 0 }, { 2, 20 * KIB, 12 * KIB },
			  { 1, 49 * KIB, 25 * KIB }, { 1, 704, 704 } } };
	sample->arena[1] = (struct heap_arena){
		.address = 0x7f0000000030, .system_bytes = 400 * KIB, .stretches = 1,
		.max_system_bytes = 400 * KIB, .attached = HEAP_UNKNOWN, .resident = 400 * KIB,
		.part = { { 1000, 300 * KIB, 300 * KIB }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 },
			  { 5, 2000, 2000 }, { 0, 0, 0 }, { 1, 97 * KIB, 97 * KIB },
			  { 1, 1072, 1072 } } };
	sample->bin[0] = (struct heap_bin){ 0, HEAP_TCACHE, 32, 32, { 7, 224, 224 } };
	sample->bin[1] = (struct heap_bin){ 0, HEAP_FAST, 32, 32, { 3, 96, 96 } };
	sample->bin[2] = (struct heap_bin){ 0, HEAP_UNSORTED, 2048, 2048,
					    { 1, 2 * KIB, 2 * KIB } };
	sample->bin[3] = (struct heap_bin){ 0, HEAP_LARGE, 8192, 12288,
					    { 2, 20 * KIB, 12 * KIB } };
	sample->bin[4] = (struct heap_bin){ 1, HEAP_SMALL, 384, 384, { 4, 1536, 1536 } };
	sample->bin[5] = (struct heap_bin){ 1, HEAP_SMALL, 464, 464, { 1, 464, 464 } };
	sample->thread[0] = (struct heap_thread){ 0, 77, 0x7f1000001c60, 0x500010,
						  { 7, 224, 0 } };
	sample->thread[1] = (struct heap_thread){ 0, 78, 0, 0, { 0, 0, 0 } };
}

static inline void memory_begin(struct memory_sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	memory_regions(sample);
	memory_arenas(sample);
	sample->heaps = (struct heap_figures){
		.pause_us = 250, .resident_known = true, .heap_count = 3,
		.arena_count = MEMORY_ARENAS, .bin_count = MEMORY_BINS,
		.thread_count = MEMORY_THREADS, .arena = sample->arena, .bin = sample->bin,
		.thread = sample->thread,
		.heap = {
			{ .allocator = "glibc", .version = "2.36", .covered = true,
			  .has_arenas = true, .arena_count = 2, .live = { 1301, 767824, 0 },
			  .free = { 20, 174352, 0 }, .mapped = { 1, 400 * KIB, 390 * KIB },
			  .memory = { 3, 932 * KIB, 890 * KIB } },
			{ .allocator = "mimalloc", .version = "2.0.9", .covered = true,
			  .live = { 10, 640 * KIB, 0 }, .free = { 90, 300 * KIB, 0 },
			  .memory = { 1, 1024 * KIB, 1024 * KIB } },
			{ .allocator = "tcmalloc", .why = "its structures can't be read yet" },
		},
		.books = { .known = true, .estimated = true, .count = 74, .asked_bytes = 23400,
			   .usable_bytes = 23992, .other_count = 1, .other_bytes = 100 },
	};
}

#endif
