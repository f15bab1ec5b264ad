/* SPDX-License-Identifier: MIT */
/* filter.h - which calls are shown in the log of calls. */
#ifndef MEMATTACH_TRACE_FILTER_H
#define MEMATTACH_TRACE_FILTER_H

#include "src/base/cleanup.h"
#include "src/symbolize/symbolize.h"
#include "src/trace/line.h"

/* All zero: every call. Texts are borrowed; patterns as for a shell's file names. */
struct trace_filter {
	bool by_size;
	uint64_t size_low, size_high;	/* bytes, both included */
	const char *site;	/* FILE:LINE, FUNCTION+0xOFFSET or MODULE+0xOFFSET of the call */
	const char *thread;	/* its id, or its thread pointer (0x...) */
	const char *function;	/* pattern: who called, or what was called */
	const char *module;	/* pattern: who called, the path or its last part */
};
/* "N", "N-M" or "N-", in bytes, with suffixes K, M, G. 0 or -EINVAL. */
int trace_filter_set_size(struct trace_filter *filter, const char *text) _must_check_;
/* 0 or -EINVAL: neither an id nor an address. */
int trace_filter_set_thread(struct trace_filter *filter, const char *text) _must_check_;
/* True if call's own figures let it pass. */
bool trace_filter_call(const struct trace_filter *filter, const struct trace_line *call);
/*
 * True if a call from there passes: count frames, innermost first. called: that of what is called
 * is the function that was asked for.
 */
bool trace_filter_place(const struct trace_filter *filter, const struct symbol_frame *frame,
			size_t count, bool called);
/* True if name (hook_entry.name) is the function that was asked for. */
bool trace_filter_called(const struct trace_filter *filter, const char *name);

#endif
