/* SPDX-License-Identifier: MIT */
/*
 * sample_session.h - a small session with known figures, for tests of snapshots, reports and
 * recordings. Names that try to break a terminal or a JSON document are part of it.
 */
#ifndef MEMATTACH_TESTS_SAMPLE_SESSION_H
#define MEMATTACH_TESTS_SAMPLE_SESSION_H

#include <stdlib.h>
#include <string.h>

#include "src/report/report.h"

#define SAMPLE_HZ 1000000000.0	/* one tick is a nanosecond */

struct sample {
	struct stacks *stacks;
	struct sites *sites;
	struct live *live;
	struct timeline timeline;
	struct ticks ticks;
	uint64_t now;
	uint32_t stack[4];
	double unit;		/* that an undrawn sample may stand for; 0: the session's */
	uint64_t passed;	/* bytes that were asked for while drawing; 0: any number */
};

static inline void sample_must(int err)
{
	if (err < 0)
		abort();
}

static inline uint32_t sample_stack(struct sample *sample, uint32_t first, uint32_t count,
				    uint32_t flags)
{
	struct frame frame[8];
	uint32_t id;

	for (uint32_t i = 0; i < count; i++)
		frame[i] = (struct frame){ .module = i == 2 ? 0 : 1 + i % 2, .flags = FRAME_RETURN,
					   .offset = 0x1000u * (first + i) };
	sample_must(stacks_intern(sample->stacks, frame, count, flags, &id));
	return id;
}

static inline void sample_apply(struct sample *sample, struct event event, uint32_t stack)
{
	sample->now += 1000000;
	event.time = sample->now;
	sample_must(live_apply(sample->live, &event, stack));
}

static inline void sample_alloc(struct sample *sample, uint64_t address, uint64_t size,
				uint64_t interval, uint32_t stack)
{
	sample_apply(sample, (struct event){ .kind = RING_ALLOC, .address = address, .size = size,
					     .interval = interval, .thread = 1 }, stack);
}

static inline void sample_free(struct sample *sample, uint64_t address)
{
	sample_apply(sample, (struct event){ .kind = RING_FREE, .address = address,
					     .thread = 1 }, 0);
}

static inline struct doubt sample_doubt(const struct sample *sample)
{
	return (struct doubt){ .unseen.unit = sample->unit > 0 ? sample->unit :
		sites_totals(sample->sites, SITE_MALLOC)->alloc.samples ? 4096 : 0,
		.passed = sample->passed ?: 1ull << 60 };
}

static inline void sample_tick(struct sample *sample)
{
	const struct snapshot_input input = { .sites = sample->sites, .live = sample->live,
					      .doubt = sample_doubt(sample) };
	struct timeline_point point = { .time = ticks_seconds(&sample->ticks, sample->now),
					.rss_bytes = 1 << 20, .vsz_bytes = 1 << 24 };

	sites_tick(sample->sites, sample->now);
	snapshot_point(&input, &sample->timeline, &point);
	sample_must(timeline_add(&sample->timeline, &point));
}

static inline void sample_init(struct sample *sample, bool exact)
{
	struct live_options options = { .exact = exact, .complete = exact };

	memset(sample, 0, sizeof(*sample));
	sample->ticks = (struct ticks){ .tsc0 = 1000, .hz = SAMPLE_HZ };
	sample->now = 1000;
	sample_must(stacks_new(&sample->stacks));
	sample_must(sites_new(sample->stacks, &sample->sites));
	sample_must(live_new(&options, sample->sites, &sample->live));
	sample->stack[0] = sample_stack(sample, 1, 3, 0);
	sample->stack[1] = sample_stack(sample, 2, 2, STACK_TRUNCATED);
	sample->stack[2] = sample_stack(sample, 5, 1, STACK_TRUNCATED | STACK_CALLER_ONLY);
}

static inline void sample_done(struct sample *sample)
{
	timeline_done(&sample->timeline);
	live_free(sample->live);
	sites_free(sample->sites);
	stacks_free(sample->stacks);
}

/* 30 blocks of 1000 bytes at site 1 (10 freed), one of 64 at site 2, a mapping at site 3. */
static inline void sample_fill(struct sample *sample, uint64_t interval)
{
	for (uint64_t i = 1; i <= 30; i++) {
		sample_alloc(sample, i * 0x1000, 1000, interval, sample->stack[0]);
		if (i % 10 == 0)
			sample_tick(sample);
	}
	for (uint64_t i = 1; i <= 10; i++)
		sample_free(sample, i * 0x1000);
	sample_alloc(sample, 0x900000, 64, interval, sample->stack[1]);
	sample_apply(sample, (struct event){ .kind = RING_MAP, .address = 0x7f0000000000,
					     .size = 8192, .thread = 2 }, sample->stack[2]);
	sample_tick(sample);
}

static inline struct snapshot *sample_take(const struct sample *sample, bool leaks,
					   enum snapshot_detached detached)
{
	char *hooked[] = { (char *)(uintptr_t)"malloc", (char *)(uintptr_t)"free" };
	struct snapshot_allocator allocator = {
		.name = (char *)(uintptr_t)"glibc", .version = (char *)(uintptr_t)"2.36",
		.module = (char *)(uintptr_t)"/lib/libc.so.6", .hooked_count = 2, .hooked = hooked,
	};
	struct snapshot_target target = {
		.pid = 1234, .exe = (char *)(uintptr_t)"/usr/bin/\xff" "demo",
		.cmdline = (char *)(uintptr_t)"demo \"quoted\" \033[2J", .start_time = 1.7e9,
		.threads = 2, .rss_bytes = 1 << 20, .vsz_bytes = 1 << 24,
		.allocator_count = 1, .allocator = &allocator,
	};
	bool exact = live_exact(sample->live);
	struct snapshot_session session = {
		.version = (char *)(uintptr_t)"0.1.0", .begin_time = 1.7e9 + 5,
		.mode = exact ? SNAPSHOT_EXACT : SNAPSHOT_SAMPLED,
		.duration = ticks_seconds(&sample->ticks, sample->now),
		.sample_interval_bytes = exact ? 0 : 4096, .overhead_percent = -1,
		.attach_stop_us_max = 61, .threads_stopped = 1, .detached = detached,
		.stacks = { .distinct = 3, .unwound = 3, .truncated = 2 },
	};
	struct snapshot_input input = {
		.target = &target, .session = &session, .sites = sample->sites,
		.live = sample->live, .timeline = &sample->timeline, .ticks = &sample->ticks,
		.now = sample->now, .leaks = leaks, .doubt = sample_doubt(sample),
	};
	struct snapshot *snapshot;

	sample_must(snapshot_take(&input, &snapshot));
	return snapshot;
}

/* Module 1 has names, with an inlined frame; module 2 has none; module 0 is no module. */
static inline const struct symbol_frame *sample_frame(void *context, const struct frame *frame,
						      size_t *ret_count)
{
	static const struct symbol_frame named[] = {
		{ .function = "inner<T>::\"f\"", .file = "src/inner.hpp", .line = 12, .column = 3,
		  .function_offset = 4, .module = "/usr/bin/demo", .build_id = "c0ffee",
		  .offset = 0xfff, .inlined = true },
		{ .function = "outer\033[2J", .file = "src/outer.cc", .line = 99,
		  .function_offset = 40, .module = "/usr/bin/demo", .build_id = "c0ffee",
		  .offset = 0xfff },
	};
	static const struct symbol_frame unnamed = { .module = "/lib/lib\xc3\xa4.so",
						     .build_id = "", .offset = 0x2fff };
	static const struct symbol_frame nowhere = { .module = "", .build_id = "" };

	(void)context;
	*ret_count = frame->module == 1 ? 2 : 1;
	return frame->module == 1 ? named : frame->module == 2 ? &unnamed : &nowhere;
}

/* What a report writes. The caller frees it. */
static inline char *sample_print(const char *report, const struct report_input *input)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	sample_must(out ? report_find(report)->write(out, input) : -1);
	fclose(out);
	return text;
}

static inline struct report_input sample_input(const struct sample *sample,
					       const struct snapshot *snapshot)
{
	return (struct report_input){ .snapshot = snapshot, .stacks = sample->stacks,
				      .names = { .frame = sample_frame } };
}

#endif
