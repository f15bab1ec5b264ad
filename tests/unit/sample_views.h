/* SPDX-License-Identifier: MIT */
/*
 * sample_views.h - a small snapshot made by hand, for the tests of views: a program whose main
 * calls parse and serve; a function inlined; one that calls itself; a mapping; no stack at all.
 */
#ifndef MEMATTACH_TESTS_SAMPLE_VIEWS_H
#define MEMATTACH_TESTS_SAMPLE_VIEWS_H

#include "src/live/block_list.h"
#include "src/live/site_lives.h"
#include "tests/unit/sample_figures.h"
#include "tests/unit/sample_session.h"

enum { VIEWS_POINTS = 5, VIEWS_SIZES = 7 };
struct views_sample {
	struct stacks *stacks;
	struct snapshot snapshot;
	struct snapshot_site site[6];
	struct timeline_point point[VIEWS_POINTS];
	struct snapshot_bar bar[VIEWS_SIZES];
	struct site_life life[2];
	struct site_lives lives;
	struct listed_block block[4];
	struct block_list blocks;
	struct threads_sample threads;
};

/* By offset / 0x10. Innermost first; the first of two is inlined into the second. */
static const struct symbol_frame views_symbol[][2] = {
	[1] = { { .function = "main", .file = "main.c", .line = 10, .column = 2,
		  .function_offset = 16, .module = "/usr/bin/demo", .build_id = "ab12",
		  .offset = 0xf } },
	[2] = { { .function = "parse(char const*)", .file = "parse.cc", .line = 20,
		  .function_offset = 5, .module = "/usr/bin/demo", .build_id = "ab12",
		  .offset = 0x1f } },
	[3] = { { .function = "vec<int>::grow(int)", .file = "vec.h", .line = 5, .column = 7,
		  .module = "/usr/bin/demo", .build_id = "ab12", .offset = 0x2f,
		  .inlined = true },
		{ .function = "serve(int)", .file = "serve.cc", .line = 31,
		  .function_offset = 9, .module = "/usr/bin/demo", .build_id = "ab12",
		  .offset = 0x2f } },
	[4] = { { .function = "main", .file = "main.c", .line = 11, .module = "/usr/bin/demo",
		  .build_id = "ab12", .offset = 0x3f } },
	[5] = { { .function = "walk(int)", .file = "walk.cc", .line = 50,
		  .module = "/lib/libwalk.so.1", .build_id = "", .offset = 0x4f } },
	[6] = { { .module = "/lib/libwalk.so.1", .build_id = "", .offset = 0x5f } },
	[7] = { { .function = "xmalloc", .file = "xmalloc.c", .line = 3,
		  .module = "/usr/bin/demo", .build_id = "ab12", .offset = 0x6f } },
};

static inline const struct symbol_frame *views_frame(void *context, const struct frame *frame,
						     size_t *ret_count)
{
	const struct symbol_frame *symbol = views_symbol[frame->offset / 0x10];

	(void)context;
	*ret_count = symbol[1].module ? 2 : 1;
	return symbol;
}

/* frames: a digit each, innermost first. */
static inline uint32_t views_stack(struct views_sample *sample, const char *frames)
{
	struct frame frame[16];
	uint32_t id, count = 0;

	for (; frames[count]; count++)
		frame[count] = (struct frame){ .module = 1, .flags = FRAME_RETURN,
					       .offset = (uint64_t)(frames[count] - '0') * 0x10 };
	sample_must(stacks_intern(sample->stacks, frame, count, 0, &id));
	return id;
}

/* What the sites above come to; 5 seconds of it. */
static inline void views_totals(struct views_sample *sample)
{
	static char *const hooked[] = { (char *)(uintptr_t)"malloc", (char *)(uintptr_t)"free" };
	static struct snapshot_allocator allocator = {
		.name = (char *)(uintptr_t)"glibc", .version = (char *)(uintptr_t)"2.36",
		.module = (char *)(uintptr_t)"/lib/libc.so.6", .hooked_count = 2,
		.hooked = (char **)(uintptr_t)hooked,
	};
	struct snapshot *s = &sample->snapshot;

	s->target = (struct snapshot_target){
		.pid = 77, .exe = (char *)(uintptr_t)"/usr/bin/demo",
		.cmdline = (char *)(uintptr_t)"demo --serve", .start_time = 1.7e9, .threads = 2,
		.rss_bytes = 5u << 20, .vsz_bytes = 90u << 20, .allocator_count = 1,
		.allocator = &allocator };
	s->session = (struct snapshot_session){
		.version = (char *)(uintptr_t)"0.1.0", .mode = SNAPSHOT_EXACT,
		.begin_time = 1.7e9 + 60, .duration = 5, .overhead_percent = -1,
		.attach_stop_us_max = 250, .detach_stop_us_max = 90, .threads_stopped = 2,
		.detached = SNAPSHOT_PRISTINE, .stacks = { .distinct = 6, .unwound = 6 } };
	s->exact = s->complete = true;
	s->totals = (struct snapshot_totals){
		.alloc_count = 142, .alloc_bytes = 36862, .free_count = 68, .free_bytes = 13462,
		.temporary_count = 44, .overhead_bytes = 592, .live_count = 74,
		.live_bytes = 23400, .peak_live_bytes = 18398, .live_bytes_low = 23400,
		.live_bytes_high = 23400, .samples = 142,
		.in = { .alloc_count = { 142, 142 }, .alloc_bytes = { 36862, 36862 },
			.free_count = { 68, 68 }, .free_bytes = { 13462, 13462 },
			.live_count = { 74, 74 }, .peak_live_bytes = { 18398, 18398 },
			.temporary_count = { 44, 44 } } };
	s->intervals = s->site_intervals = true;
	s->map_totals = (struct snapshot_map_totals){
		.map_count = 2, .map_bytes = 8192, .live_count = 2, .live_bytes = 8192,
		.peak_live_bytes = 8192, .allocator_live_bytes = 135168 };
}

/* Calls, frees and bytes add up to the totals. */
static inline void views_series(struct views_sample *sample)
{
	static const struct snapshot_bar bar[VIEWS_SIZES] = {
		{ 0, 1 }, { 16, 1 }, { 24, 4 }, { 48, 3 }, { 50, 4 }, { 64, 99 }, { 1000, 30 } };
	uint64_t live[VIEWS_POINTS] = { 4000, 18000, 36000, 21000, 23400 };
	uint64_t allocs[VIEWS_POINTS] = { 10, 42, 70, 0, 20 };
	uint64_t frees[VIEWS_POINTS] = { 0, 0, 8, 60 };

	memcpy(sample->bar, bar, sizeof(bar));
	for (unsigned int i = 0; i < VIEWS_POINTS; i++)
		sample->point[i] = (struct timeline_point){
			.time = i + 1.0, .alloc_count = allocs[i], .free_count = frees[i],
			.alloc_bytes = allocs[i] * 259, .live_bytes = live[i],
			.rss_bytes = i ? (4u + i / 2) << 20 : 0, .vsz_bytes = i ? 90u << 20 : 0 };
	sample->snapshot.timeline = sample->point;
	sample->snapshot.timeline_count = VIEWS_POINTS;
	sample->snapshot.histogram = sample->bar;
	sample->snapshot.histogram_count = VIEWS_SIZES;
}

/* Sites 1 and 3: of site 1 blocks are freed within 20 ms, of site 3 at once. */
static inline void views_lives(struct views_sample *sample)
{
	sample->life[0] = (struct site_life){ .site = 1, .seconds = 5, .oldest = 1 };
	sample->life[0].born[30] = 5;
	sample->life[0].born[100] = 15;
	sample->life[1] = (struct site_life){ .site = 3, .seconds = 5, .oldest = 0.5 };
	sample->life[1].born[13] = 50;
	for (uint64_t i = 1; i <= 10; i++)
		lifetimes_add(&sample->life[0].freed, i * 2000000, 1);
	for (uint64_t i = 1; i <= 50; i++)
		lifetimes_add(&sample->life[1].freed, i * 100, 1);
	sample->site[0].lifetime_p50 = 0.01;
	sample->site[0].lifetime_p90 = 0.018;
	sample->site[0].lifetime_max = 0.02;
	sample->site[2].lifetime_p50 = 2.5e-6;
	sample->site[2].lifetime_p90 = 4.5e-6;
	sample->site[2].lifetime_max = 5e-6;
	sample->lives = (struct site_lives){ .seconds = 5, .count = 2, .life = sample->life };
	sample->block[0] = (struct listed_block){ 0x5000, 1000, 1.5, 1, 1, 1 };
	sample->block[1] = (struct listed_block){ 0x6000, 1000, 4.999, 1, 1, 2 };
	sample->block[2] = (struct listed_block){ 0x55550000, 64, 0.25, 1, 3, 1 };
	sample->block[3] = (struct listed_block){ 0x7ffff7a01020, 50, 2, 1, 4, 1 };
	sample->blocks = (struct block_list){ .count = 4, .block = sample->block };
}

/* Site 1 is called by main:11 > serve > vec::grow (inlined) > xmalloc, the allocator's own. */
static inline void views_begin(struct views_sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample_must(stacks_new(&sample->stacks));
	sample->site[0] = views_site(1, views_stack(sample, "734"), 1000, 30, 10);
	sample->site[0].skip_frames = 1;
	sample->site[1] = views_site(2, views_stack(sample, "61"), 4096, 2, 0);
	sample->site[1].kind = SITE_MMAP;
	sample->site[2] = views_site(3, views_stack(sample, "5554"), 64, 100, 50);
	sample->site[2].temporary_count = 40;
	sample->site[3] = views_site(4, views_stack(sample, "21"), 50, 7, 3);
	sample->site[4] = views_site(5, views_stack(sample, "54"), 24, 4, 4);
	sample->site[4].temporary_count = 4;
	sample->site[5] = views_site(6, 0, 16, 1, 1);
	sample->snapshot.site = sample->site;
	sample->snapshot.site_count = ARRAY_SIZE(sample->site);
	sample->snapshot.every_alloc = sample->snapshot.site_peaks = true;
	sample->snapshot.resizes = true;
	sample_resizes(&sample->site[0].resizes, &sample->site[3].resizes);
	views_totals(sample);
	views_series(sample);
	views_lives(sample);
	threads_sample_begin(&sample->threads);
}

static inline void views_end(struct views_sample *sample)
{
	lifetimes_done(&sample->life[0].freed);
	lifetimes_done(&sample->life[1].freed);
	stacks_free(sample->stacks);
}

static inline struct report_input views_input(const struct views_sample *sample)
{
	return (struct report_input){ .snapshot = &sample->snapshot, .stacks = sample->stacks,
				      .names = { .frame = views_frame },
				      .threads = &sample->threads.table };
}

#endif
