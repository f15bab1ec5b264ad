/* SPDX-License-Identifier: MIT */
/* session_trace.h - what the log of calls means for the session. All of it does nothing without. */
#ifndef MEMATTACH_SESSION_TRACE_H
#define MEMATTACH_SESSION_TRACE_H

#include "src/session/state.h"

/* Opens the log if one was asked for. 0; -ENOTDIR explained on stderr; -errno. */
int session_trace_open(struct session *s) _must_check_;
/* After each drain. When the output ends, says so and has the session end. */
void session_trace_pump(struct session *s);
/* The target is as it was, or gone. */
void session_trace_left(struct session *s);
/* The end of the log; the report's last snapshot is released. */
void session_trace_end(struct session *s);

#endif
