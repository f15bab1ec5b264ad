/* SPDX-License-Identifier: MIT */
/*
 * session_trace.c - see session_trace.h.
 *
 * A log whose output has ended has no reader: the session detaches at once, says why, and fails.
 */
#include "src/session/session_trace.h"

int session_trace_open(struct session *s)
{
	const struct session_options *options = s->options;
	struct trace_log_input input = {
		.output = options->output, .json = options->json, .color = options->color,
		.block = options->block, .top = options->top, .filter = &options->filter,
		.names_shape = options->names,
		.view = &s->view, .plan = &s->plan, .watch = &s->watch,
		.symbolizer = s->report.symbolizer, .names = s->report.names,
	};

	if (!options->trace ||
	    (options->task != SESSION_WATCH && options->task != SESSION_RUN))
		return 0;
	(void)symbolizer_set_jit_map(s->report.symbolizer, s->view.jit);
	return trace_log_open(&input, &s->trace);
}

static void end(struct session *s, int error)
{
	if (s->trace_ended)
		return;
	s->trace_ended = true;
	trace_log_explain(s->trace, error);
	if (s->exit == SESSION_OK)
		s->exit = SESSION_FAILED;
}

void session_trace_pump(struct session *s)
{
	int error = s->trace ? trace_log_pump(s->trace) : 0;

	if (error)
		end(s, error);
}

void session_trace_left(struct session *s)
{
	if (s->trace)
		trace_log_left(s->trace);
}

void session_trace_end(struct session *s)
{
	struct snapshot *snapshot = s->report.last;
	int error;

	snapshot->session.detached = s->report.detached;
	error = trace_log_end(s->trace, snapshot);
	if (error)
		end(s, error);
	snapshot_free(snapshot);
	s->report.last = NULL;
}
