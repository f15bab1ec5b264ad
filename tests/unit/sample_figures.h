/* SPDX-License-Identifier: MIT */
/* sample_figures.h - figures of sample_views.h: of a site, its reallocs, its threads. */
#ifndef MEMATTACH_TESTS_SAMPLE_FIGURES_H
#define MEMATTACH_TESTS_SAMPLE_FIGURES_H

#include "src/live/snapshot.h"
#include "src/live/thread_table.h"

struct threads_sample {
	struct thread_row thread[3];
	struct thread_part part[6];
	struct thread_handover handover[3];
	struct thread_table table;
};

static inline struct snapshot_site views_site(uint32_t id, uint32_t stack, uint64_t size,
					      uint64_t allocs, uint64_t frees)
{
	return (struct snapshot_site){
		.id = id, .stack = stack, .alloc_count = allocs, .alloc_bytes = size * allocs,
		.free_count = frees, .live_count = allocs - frees,
		.live_bytes = size * (allocs - frees), .peak_live_bytes = size * allocs,
		.samples = allocs, .threads = 1, .at_peak_bytes = size * allocs / 2,
		.at_peak_count = allocs / 2, .size_low = size, .size_high = size,
	};
}

static inline void sample_resizes(struct site_resizes *many, struct site_resizes *few)
{
	*many = (struct site_resizes){
		.count = { [SITE_IN_PLACE] = 5, [SITE_MOVED] = 11, [SITE_RESIZE_FAILED] = 3,
			   [SITE_FROM_NULL] = 5, [SITE_RESIZE_FREED] = 1 },
		.known = { [SITE_GROWN] = 4, [SITE_SAME] = 1, [SITE_COPIED] = 9 },
		.copied_bytes = 6300 };
	*few = (struct site_resizes){ .count = { [SITE_IN_PLACE] = 3 },
				      .known = { [SITE_SHRUNK] = 2 } };
}

/* The sites' calls are split; site 3 has some by threads that are not told apart. */
static inline void threads_sample_begin(struct threads_sample *sample)
{
	sample->thread[0] = (struct thread_row){
		.number = 1, .id = { .tid = 7001, .ids = 1, .name = "demo" }, .alloc_count = 35,
		.alloc_bytes = 25750, .free_count = 20, .free_bytes = 9000, .freed_others = 2,
		.freed_others_bytes = 2000, .live_count = 22, .live_bytes = 15750,
		.first = 0.001, .last = 4.9 };
	sample->thread[1] = (struct thread_row){
		.number = 3, .id = { .tid = 7003, .ids = 4, .name = "pool-1" }, .alloc_count = 70,
		.alloc_bytes = 8128, .free_count = 30, .free_bytes = 2000, .live_count = 40,
		.live_bytes = 5000, .first = 0.5, .last = 3 };
	sample->thread[2] = (struct thread_row){
		.number = 2, .alloc_count = 37, .alloc_bytes = 2984, .free_count = 18,
		.free_bytes = 2462, .freed_others = 15, .freed_others_bytes = 2014,
		.live_count = 12, .live_bytes = 650, .first = 1, .last = 1.5 };
	sample->part[0] = (struct thread_part){ 1, 1, 25, 25000, 10, 15, 15000, 0 };
	sample->part[1] = (struct thread_part){ 1, 3, 5, 5000, 0, 5, 5000, 0 };
	sample->part[2] = (struct thread_part){ 3, 0, 30, 1920, 15, 15, 960, 5 };
	sample->part[3] = (struct thread_part){ 3, 2, 5, 320, 5, 0, 0, 5 };
	sample->part[4] = (struct thread_part){ 3, 3, 65, 4160, 30, 35, 2240, 30 };
	sample->part[5] = (struct thread_part){ 4, 1, 7, 350, 3, 4, 200, 0 };
	sample->handover[0] = (struct thread_handover){ 1, 3, 2, 2000 };
	sample->handover[1] = (struct thread_handover){ 3, 2, 14, 1950 };
	sample->handover[2] = (struct thread_handover){ 0, 0, 1, 64 };
	sample->table = (struct thread_table){
		.total = 3, .row_count = 3, .row = sample->thread, .part_count = 6,
		.part = sample->part, .handover_count = 3, .handover = sample->handover };
}

#endif
