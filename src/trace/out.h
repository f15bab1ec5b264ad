/* SPDX-License-Identifier: MIT */
/*
 * out.h - bytes to a descriptor whose other end may be slow, stuck or gone, from one
 * who must not wait: a bounded buffer, and a thread that writes.
 */
#ifndef MEMATTACH_TRACE_OUT_H
#define MEMATTACH_TRACE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

struct trace_out;
/* fd is borrowed. 0, -ENOMEM, -EAGAIN no thread can be had. */
int trace_out_new(int fd, size_t bytes, struct trace_out **ret) _must_check_;
/* Waits for nothing: what is not written yet is dropped, unless trace_out_finish was called. */
void trace_out_free(struct trace_out *out);
/*
 * All of it, or nothing. 0, -EAGAIN no room now, -E2BIG more than the buffer will ever hold,
 * -errno of an earlier write (-EPIPE nobody reads any more): nothing will be written any more.
 */
int trace_out_put(struct trace_out *out, const void *bytes, size_t count) _must_check_;
/* What was put is to be written soon; without, the writer is woken for 64 KiB at a time. */
void trace_out_flush(struct trace_out *out);
/* 0, or the -errno with which writing ended. Sees a closed pipe also while nothing is written. */
int trace_out_error(struct trace_out *out);
/* Waits until a fourth of the buffer is free, writing ended, or so many milliseconds passed. */
void trace_out_wait(struct trace_out *out, unsigned int milliseconds);
/* Waits until all of it is written. 0 or -errno of the write. */
int trace_out_finish(struct trace_out *out) _must_check_;

#endif
