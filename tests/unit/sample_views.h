/* SPDX-License-Identifier: MIT */
/*
 * sample_views.h - a small snapshot made by hand, for the tests of views: a program whose main
 * calls parse and serve; a template that is inlined; a function that calls itself; a mapping; a
 * site without a stack.
 */
#ifndef MEMATTACH_TESTS_SAMPLE_VIEWS_H
#define MEMATTACH_TESTS_SAMPLE_VIEWS_H

#include "tests/unit/sample_session.h"

struct views_sample {
	struct stacks *stacks;
	struct snapshot snapshot;
	struct snapshot_site site[6];
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

static inline struct snapshot_site views_site(uint32_t id, uint32_t stack, uint64_t size,
					      uint64_t allocs, uint64_t frees)
{
	return (struct snapshot_site){
		.id = id, .stack = stack, .alloc_count = allocs, .alloc_bytes = size * allocs,
		.free_count = frees, .live_count = allocs - frees,
		.live_bytes = size * (allocs - frees), .peak_live_bytes = size * allocs,
		.samples = allocs, .threads = 1,
	};
}

static inline void views_begin(struct views_sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample_must(stacks_new(&sample->stacks));
	/* main:11 > serve > (inlined) vec::grow > xmalloc, which is the allocator's own */
	sample->site[0] = views_site(1, views_stack(sample, "734"), 1000, 30, 10);
	sample->site[0].skip_frames = 1;
	/* main:10 > libwalk+0x5f */
	sample->site[1] = views_site(2, views_stack(sample, "61"), 4096, 2, 0);
	sample->site[1].kind = SITE_MMAP;
	/* main:11 > walk > walk > walk */
	sample->site[2] = views_site(3, views_stack(sample, "5554"), 64, 100, 50);
	sample->site[2].temporary_count = 40;
	/* main:10 > parse */
	sample->site[3] = views_site(4, views_stack(sample, "21"), 50, 7, 3);
	/* main:11 > walk */
	sample->site[4] = views_site(5, views_stack(sample, "54"), 24, 4, 4);
	sample->site[4].temporary_count = 4;
	/* nobody knows */
	sample->site[5] = views_site(6, 0, 16, 1, 1);
	sample->snapshot.site = sample->site;
	sample->snapshot.site_count = ARRAY_SIZE(sample->site);
	sample->snapshot.every_alloc = true;
}

static inline void views_end(struct views_sample *sample)
{
	stacks_free(sample->stacks);
}

static inline struct report_input views_input(const struct views_sample *sample)
{
	return (struct report_input){ .snapshot = &sample->snapshot, .stacks = sample->stacks,
				      .names = { .frame = views_frame } };
}

#endif
