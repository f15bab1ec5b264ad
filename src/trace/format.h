/* SPDX-License-Identifier: MIT */
/* format.h - the log of calls as text for people and as JSON lines. */
#ifndef MEMATTACH_TRACE_FORMAT_H
#define MEMATTACH_TRACE_FORMAT_H

#include <stdio.h>

#include "inject/attach/hook_plan.h"
#include "src/live/snapshot.h"
#include "src/symbolize/symbolize.h"
#include "src/target/target_view.h"
#include "src/trace/line.h"

/* What all lines share. Everything is borrowed. */
struct trace_scene {
	const struct hook_plan *plan;
	const struct proto_hello *hello;
	const struct ticks *ticks;
	bool color;
	double begin_time;	/* seconds since 1970 */
	double latest;		/* seconds: times never go back when the rate is refined */
};
/*
 * Calls that are lines of the log, and those that are none, by why: rings full, queue full.
 * unreturned: of those of the first two kinds, whose end is not known: it counts as lost, too.
 */
struct trace_counts {
	uint64_t shown, filtered, unreturned, lost, late;
};
/* What stands at the end. */
struct trace_end {
	const struct snapshot *snapshot;
	struct trace_counts counts;
	uint64_t blocks_left_out;	/* live blocks that are not listed */
	unsigned int signal;		/* that ended the process; 0: none, or not known */
};
/* A block that was not freed. */
struct trace_block {
	uint64_t address, size, time;	/* time: TSC of its allocation */
};

struct trace_format {
	/* One place that calls come from; malloc'ed, NULL: out of memory. */
	char *(*place)(const struct symbol_frame *frame, size_t count);
	const char *no_place;
	void (*begin)(FILE *out, struct trace_scene *scene);
	/* place: what the function above made, or no_place. */
	void (*line)(FILE *out, struct trace_scene *scene, const struct trace_line *line,
		     const char *place);
	void (*end)(FILE *out, struct trace_scene *scene, const struct trace_end *end);
	/* After end, in the order of their allocations. */
	void (*block)(FILE *out, struct trace_scene *scene, const struct trace_block *block,
		      const char *place);
};
extern const struct trace_format trace_format_text, trace_format_json;

/* Seconds since the watch began, never less than the last time. */
double trace_scene_time(struct trace_scene *scene, uint64_t tsc);
/* The called function's name, without its parameters if it is C++. Borrowed until the next call. */
const char *trace_scene_call(const struct trace_scene *scene, const struct trace_line *call);

#endif
