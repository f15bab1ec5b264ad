/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_trace.h - the tables of a heaptrack file: strings, instruction pointers, traces and
 * kinds of allocations. Each has a number from when it is first asked for; kinds are written when
 * all are known, the others at once.
 */
#ifndef MEMATTACH_EXPORT_HEAPTRACK_TRACE_H
#define MEMATTACH_EXPORT_HEAPTRACK_TRACE_H

#include "src/base/hashmap.h"
#include "src/export/export_places.h"

struct heaptrack_kind;
struct heaptrack_trace {
	FILE *out;
	struct export_places places;
	struct hashmap strings;		/* address of an interned text -> number */
	struct hashmap nodes;		/* ip << 32 | parent -> number of the trace */
	uint32_t *ip;			/* by view_frame.index: number, 0: not written yet */
	uint32_t string_count, ip_count, node_count;
	uint32_t kind_count[2];		/* of allocations, of frees */
	struct heaptrack_kind *kinds[2];	/* by size and trace, in the order of numbers */
};
/* To be done in any case. 0, -ENOMEM, -EBADMSG, -errno. */
int heaptrack_trace_init(struct heaptrack_trace *trace, FILE *out,
			 const struct export_input *input) _must_check_;
void heaptrack_trace_done(struct heaptrack_trace *trace);
/* The number of a stack, from 1. 0 or -ENOMEM. */
int heaptrack_trace_stack(struct heaptrack_trace *trace, const struct view_site *site,
			  uint32_t *ret) _must_check_;
/*
 * The number of a kind of allocations, or of frees, of size bytes by stack. Those of allocations
 * come first: a number of frees is right once all allocations are known. 0 or -ENOMEM.
 */
int heaptrack_trace_kind(struct heaptrack_trace *trace, uint64_t size, uint32_t stack, bool freed,
			 uint32_t *ret) _must_check_;
/* Writes all kinds. Once, when all are known. */
void heaptrack_trace_put_kinds(const struct heaptrack_trace *trace);

#endif
