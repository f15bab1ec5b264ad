/* SPDX-License-Identifier: MIT */
/*
 * trace_log.h - the log of calls of one session: from events to lines on a descriptor.
 *
 * While the target is watched nothing here waits for a slow reader or a slow search for names,
 * unless the target is to wait (--on-overflow=block): what there is no room for is left out,
 * and the log says so at that place.
 */
#ifndef MEMATTACH_TRACE_LOG_H
#define MEMATTACH_TRACE_LOG_H

#include "src/names/names.h"
#include "src/report/report.h"
#include "src/trace/filter.h"
#include "src/watch/watch.h"

struct trace_log;
/* Everything is borrowed for the life of the log. */
struct trace_log_input {
	const char *output;		/* a path; NULL: the standard output */
	bool json, color;
	bool block;			/* the target may be kept waiting for the log's reader */
	uint32_t top;			/* blocks in the last lines; 0: the format's choice */
	const struct trace_filter *filter;
	struct name_shape names_shape;
	struct target_view *view;
	const struct hook_plan *plan;
	struct watch *watch;
	struct symbolizer *symbolizer;
	struct session_names *names;
};
/*
 * Opens output, emptied, or uses the standard output. 0; -ENOTDIR it can't be written
 * (explained on stderr); -errno.
 */
int trace_log_open(const struct trace_log_input *input, struct trace_log **ret) _must_check_;
void trace_log_close(struct trace_log *log);
/* The first line. pre: events are recorded since just now. */
void trace_log_begin(struct trace_log *log);
/* For watch_options.observe; context: the log. */
void trace_log_observe(void *context, const struct event *event);
/* For watch_options.observe_wrong: the event just observed frees what is no live block. */
void trace_log_observe_wrong(void *context, const struct event *event, bool twice);
/* Writes what can be written; after each drain. 0, -errno the output has ended. */
int trace_log_pump(struct trace_log *log) _must_check_;
/* The target is left: from now on the log waits for its reader. */
void trace_log_left(struct trace_log *log);
/* What is left, the totals, the blocks that were not freed. 0 or -errno. */
int trace_log_end(struct trace_log *log, const struct snapshot *snapshot) _must_check_;
/* What error of the output means, and what to do. */
void trace_log_explain(const struct trace_log *log, int error);

#endif
