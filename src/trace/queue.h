/* SPDX-License-Identifier: MIT */
/*
 * queue.h - lines of the log of calls, in an order in which each address's history is
 * right: what gives a block back stands where it was called, what gets one where it returned.
 *
 * So a free whose end is not known yet holds back what came after it; for a second at the most,
 * then it is let go without its end. A realloc stands where it returned, but before a call of
 * another thread that got its old block meanwhile. Memory is bounded.
 */
#ifndef MEMATTACH_TRACE_QUEUE_H
#define MEMATTACH_TRACE_QUEUE_H

#include "src/base/cleanup.h"
#include "src/trace/line.h"

struct trace_queue;
/* Room for that many lines; patience: TSC cycles. 0 or -ENOMEM. */
int trace_queue_new(size_t lines, uint64_t patience, struct trace_queue **ret) _must_check_;
void trace_queue_free(struct trace_queue *queue);
/* Lines that can still be put; calls are left out when fewer than these are free. */
#define TRACE_QUEUE_SPARE 4u
size_t trace_queue_room(const struct trace_queue *queue);
/*
 * call, which gives back the block argument[0], begins: time, entry, shape, thread, caller,
 * argument[0] are known. A realloc or mremap gets its place later. What finds no room is left out,
 * of which trace_queue_return tells.
 */
void trace_queue_announce(struct trace_queue *queue, const struct trace_line *call);
/* Notes call->wrong of the call that its thread announced last, if that is of the same address. */
void trace_queue_mark(struct trace_queue *queue, const struct trace_line *call);
/*
 * call has returned; time is that of its record. announced: its thread said so before. False: no
 * room, it is left out. (A place that it has already is filled in any case.)
 */
bool trace_queue_return(struct trace_queue *queue, const struct trace_line *call, bool announced);
/* A line that is no call, at the end. False: no room. */
bool trace_queue_remark(struct trace_queue *queue, const struct trace_line *line);
/*
 * The next line of the log at TSC now; NULL: none yet. UINT64_MAX: nothing is waited for.
 * Borrowed until the next call.
 */
const struct trace_line *trace_queue_first(struct trace_queue *queue, uint64_t now);
/* It is written. pre: trace_queue_first was not NULL. */
void trace_queue_shift(struct trace_queue *queue);

#endif
